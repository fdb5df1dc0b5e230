import { type Branch, hashesFor, hashOf, type HeaderFields, isProven, rootOf, txidOf } from './proof.js'

/** The maximum number of later blocks that are checked: each is one request. */
const LATER = 6

type Step = 'txid' | 'branch' | 'header' | 'work' | 'later'

/**
 * Verifies with the reader's own processor that a transaction is in a block, and shows each step. The explorer is asked for data alone: no
 * step relies on what it says about them.
 * @param part with the steps in a list, and the URL of the API and the transaction in `data-api` and `data-txid`.
 */
export async function verify(part: HTMLElement): Promise<void> {
  const { api = '', txid = '' } = part.dataset
  const read = async (path: string): Promise<Response> => {
    const response = await fetch(api + path)
    if (!response.ok) throw new Error(`${path}: ${String(response.status)}`)
    return response
  }
  const json = async <T>(path: string): Promise<T> => (await (await read(path)).json()) as T
  let current: Step = 'txid'
  const step = async (name: Step, check: () => Promise<string>): Promise<void> => {
    current = name
    show(part, name, 'running', '')
    show(part, name, 'right', await check())
  }
  try {
    let branch: Branch | undefined
    let block: HeaderFields | undefined
    await step('txid', async () => {
      const { hex } = await json<{ hex: string }>(`/tx/${txid}/hex`)
      return same(txidOf(hex), txid)
    })
    await step('branch', async () => {
      branch = await json<Branch>(`/tx/${txid}/merkle-proof`)
      block = await json<HeaderFields>(`/block/${branch.block_hash}`)
      return same(rootOf(txid, branch), block.merkle_root)
    })
    const { block_hash: hash } = branch as unknown as Branch
    const found = block as unknown as HeaderFields
    await step('header', () => Promise.resolve(same(hashOf(found), hash)))
    await step('work', () => {
      if (!isProven(found)) throw new RangeError(hashOf(found))
      return Promise.resolve(`2^${Math.log2(Number(hashesFor(found))).toFixed(1)}`)
    })
    await step('later', async () => {
      const { height: tip } = await json<{ height: number }>('/blocks/tip')
      let last = found
      while (last.height < Math.min(tip, found.height + LATER)) {
        const next = await json<HeaderFields>(`/block/${String(last.height + 1)}`)
        same(next.prev_hash, hashOf(last))
        same(hashOf(next), next.hash)
        if (!isProven(next)) throw new RangeError(next.hash)
        last = next
      }
      return `${String(last.height - found.height)}: ${last.hash}`
    })
  } catch (error) {
    const isWrong = error instanceof RangeError
    show(part, current, isWrong ? 'wrong' : 'failed', error instanceof Error ? error.message : String(error))
  }
}

/** Returns a value that was computed. @throws RangeError with it, if it is not the expected one. */
function same(computed: string, expected: string): string {
  if (computed !== expected) throw new RangeError(computed)
  return computed
}

/** Shows the state of a step, in the words that the page has for it, and what was computed. */
function show(part: HTMLElement, name: Step, state: string, value: string): void {
  const item = part.querySelector<HTMLElement>(`[data-step="${name}"]`)
  const [status, code] = [item?.querySelector('.state'), item?.querySelector('code')]
  if (!item || !status || !code) return
  item.dataset['state'] = state
  status.textContent = part.dataset[state] ?? state
  code.textContent = value
}
