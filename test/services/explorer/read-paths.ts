import { READS } from '../../../services/explorer/core/reads/index.js'
import type { Read } from '../../../services/explorer/core/reads/read.js'
import type { Answer } from '../../harness/pipeline.js'
import { edgesOf, isInPath, isInUrl, pathOf } from './edges.js'

/** The number of paths of each read that lead to an answer, and of those that do not. */
interface Numbers {
  readonly answered: number
  readonly refused: number
}

/** A read, and one of its paths below /api/v1. */
export interface ReadPath {
  readonly read: Read
  readonly path: string
}

/** The names of reads whose answers depend on the moments at which one poller observed the mempool: two indexes have different ones. */
export const OBSERVED: ReadonlySet<string> = new Set([
  'mempoolHistory',
  'expectedBlock',
  'expectedBlocks',
  'mempoolReplacements',
  'replacedTransaction',
  'transactionReplacements',
  'feeEstimates',
  'confirmationForecast',
])

/**
 * Returns paths of every declared read: some that are answered, from what is on the chain, and one that is refused or
 * not found.
 * @param get of an explorer that has indexed the chain.
 * @param height of a block of the chain.
 * @param numbers fewer where all paths are read again and again.
 * @throws Error if a read answers nothing.
 */
export async function pathsOfReads(
  get: (path: string) => Promise<Answer>,
  height: number,
  numbers: Numbers = { answered: 2, refused: 1 },
): Promise<ReadPath[]> {
  const { body } = await get('/txs/recent')
  const recent = body.items as { txid: string; outputs: { addresses: { address: string }[] }[] }[]
  const address = recent.flatMap(({ outputs }) => outputs.flatMap(({ addresses }) => addresses))[0]?.address
  const { body: tip } = await get('/blocks/tip')
  const opReturn = String((await get('/op-returns')).body.items[0]?.txid)
  const known = [opReturn, recent[0]?.txid ?? '', address ?? '', String(tip.hash), '7', String(height)]
  const paths: ReadPath[] = []
  for (const read of READS.filter(isInUrl)) {
    const found = { good: [] as string[], other: [] as string[] }
    const plain = known.map((value) => candidates(read, [value])[0] ?? '')
    const tried = new Map<string, boolean>()
    const isAnswered = async (path: string): Promise<boolean> => {
      const isGood = tried.get(path) ?? (await get(path)).status === 200
      tried.set(path, isGood)
      return isGood
    }
    // First the value that is answered without other arguments: to try these with each wrong value takes a hundred requests.
    let first = 0
    while (first < known.length && !(await isAnswered(plain[first] ?? ''))) first++
    const ordered = [...known.slice(first, first + 1), ...known.slice(0, first), ...known.slice(first + 1)]
    for (const path of new Set([...plain.slice(0, first), ...candidates(read, ordered)])) {
      const isGood = await isAnswered(path)
      found[isGood ? 'good' : 'other'].push(path)
      if (found.good.length >= numbers.answered) break
    }
    if (found.good.length === 0 && !['label', 'replacedTransaction', 'expectedBlock'].includes(read.name))
      throw new Error(`${read.name} answers nothing`)
    for (const path of [...found.good, ...found.other.slice(0, numbers.refused)]) paths.push({ read, path })
  }
  return paths
}

/** Returns paths with each of the values in the path, and with each value of the other arguments behind it. */
function candidates(read: Read, known: readonly string[]): string[] {
  const names = Object.keys(read.args)
  const inPath = names.filter((argument) => isInPath(read, argument))
  const given: Record<string, string>[] = names
    .filter((argument) => !inPath.includes(argument))
    .flatMap((argument) => {
      const { inside, plausible } = edgesOf(read, argument)
      return [...known, ...inside, ...plausible.slice(0, 1)].map((value) => ({ [argument]: value }))
    })
  return known.flatMap((value) =>
    [{}, ...given].map((values) => {
      const path = Object.fromEntries(inPath.map((argument) => [argument, value]))
      return pathOf(read, { ...path, ...values }).replace('/api/v1', '')
    }),
  )
}
