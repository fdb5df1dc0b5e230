/** Backfills of a simulated chain under load: no gap in the log, and a clean audit. */
import { parseArgs } from 'node:util'
import { backfill, type BackfillOptions } from './backfill.js'

const USAGE = `usage: node deploy/bootstrap.mjs backfill [options]
  --seed TEXT          selects the chain (default 1)
  --blocks N           default 10000
  --txs-per-block K    default 50
  --busy N             number of busy loops (default 8)
  --synced N           number of loops that write and sync to the same disk (default 1)
  --chains-dir DIR     keeps the simulated chain for the next run with the same numbers
exit status: 0 no gap and a clean audit, 1 a gap or a difference, 2 it could not be run`

const SHOWN = 20
const say = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  process.exit(await run())
} catch (error) {
  process.stderr.write(`backfill: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}

async function run(): Promise<number> {
  const options = readOptions()
  if (options === undefined) {
    say(USAGE)
    return 0
  }
  const { faults, seconds, log, audit } = await backfill(options)
  for (const fault of faults.slice(0, SHOWN)) say(`  ${fault}`)
  const figures = `${String(log.blocks)} blocks in ${String(seconds)} s, ${String(log.events)} events of ${String(log.epochs)} epochs`
  if (faults.length > 0) {
    say(
      `WRONG backfill of seed ${options.seed}: ${figures}; ${String(faults.length)} faults, the first: ${faults[0] ?? ''}`,
    )
    return 1
  }
  const checked = (audit?.checks ?? []).reduce((sum, each) => sum + each.checked, 0)
  say(`ok   backfill of seed ${options.seed}: ${figures}; audit clean, ${String(checked)} figures`)
  return 0
}

/**
 * Parses the options.
 * @returns undefined for `--help`.
 * @throws Error for invalid ones.
 */
function readOptions(): BackfillOptions | undefined {
  const string = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      seed: string,
      blocks: string,
      'txs-per-block': string,
      busy: string,
      synced: string,
      'chains-dir': string,
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) return undefined
  const number = (name: 'blocks' | 'txs-per-block' | 'busy' | 'synced', otherwise: number): number => {
    const value = values[name] === undefined ? otherwise : Number(values[name])
    if (!Number.isInteger(value) || value < 0 || value > 1_000_000)
      throw new Error(`--${name} is an integer from 0 to 1000000\n${USAGE}`)
    return value
  }
  const seed = values.seed ?? '1'
  if (!/^[\w-]{1,40}$/.test(seed)) throw new Error(`--seed is made of letters, digits, - and _\n${USAGE}`)
  return {
    seed,
    blocks: number('blocks', 10_000),
    txsPerBlock: number('txs-per-block', 50),
    busy: number('busy', 8),
    synced: number('synced', 1),
    chainsDir: values['chains-dir'],
    say,
  }
}
