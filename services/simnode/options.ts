import { parseArgs } from 'node:util'
import { findNetwork, NETWORKS, REGTEST } from '../../pipelines/chain/networks.js'
import { UsageError } from '../../pipelines/errors.js'
import type { SimnodeOptions } from './node.js'

/** The number of transactions in the history above which the default mix has few Dilithium ones, so that the chain stays small. */
const RICH_LIMIT = 200_000

export interface CommandLine {
  readonly node: SimnodeOptions
  /** The file to which `{url, pid}` is written once the node listens. */
  readonly stateFile: string | undefined
  /** Set if only the help text was requested. */
  readonly help: boolean
}

export const USAGE = `npm run simnode -- [options]
  --seed TEXT              selects the chain (default headwater)
  --chain NAME             ${[...NETWORKS.keys()].join(', ')} (default btq-regtest)
  --port N                 port to listen on (default 0: a free port)
  --blocks N               blocks built before the node listens (default 200)
  --days N                 instead of --blocks: a history of N days that ends now, and time is that of the clock
  --txs-per-block K        mean number of transactions per block (default 8)
  --mix rich|cheap         many Dilithium transactions, or few (default: by the number of transactions)
  --block-interval-ms MS   interval between blocks (default 5000; 0: only on request)
  --reorg-rate R           probability of a reorganisation instead of a block (default 0.05)
  --reorg-depth D          maximum depth of a reorganisation (default 3)
  --block-ms MS            time to read a block (default 0; a real node: 5)
  --big-block BYTES        minimum bytes of the last block of the history and of every 20th
  --data-dir DIR           stores the chain there, and continues from it (default: in memory)
  --state-file PATH        writes {url, pid} there (default: simnode.json in DATA_DIR)`

const SEE = 'see npm run simnode -- --help'

/** Parses the command line. @throws UsageError */
export function readCommandLine(args: readonly string[], defaultChain = REGTEST.name): CommandLine {
  const values = parsed(args)
  const errors: string[] = []
  const number = (name: NumberOption, otherwise: number, most = 1_000_000_000): number => {
    const text = values[name]
    const value = text === undefined ? otherwise : Number(text)
    if (text === '' || !Number.isFinite(value) || value < 0 || value > most) {
      errors.push(`--${name} must be a number from 0 to ${String(most)}, got '${String(text)}'`)
    }
    return value
  }
  const network = findNetwork(values.chain ?? defaultChain)
  if (network === undefined) errors.push(`--chain must be one of ${[...NETWORKS.keys()].join(', ')}`)
  const blocks = Math.floor(number('blocks', 200))
  const txsPerBlock = number('txs-per-block', 8)
  const mix = values.mix ?? (blocks * txsPerBlock > RICH_LIMIT ? 'cheap' : 'rich')
  if (mix !== 'rich' && mix !== 'cheap') errors.push('--mix must be rich or cheap')
  const node: SimnodeOptions = {
    seed: values.seed ?? 'headwater',
    ...(network === undefined ? {} : { network }),
    port: number('port', 0, 65_535),
    blocks,
    days: number('days', 0, 3650),
    txsPerBlock,
    mix: mix === 'cheap' ? 'cheap' : 'rich',
    blockIntervalMs: number('block-interval-ms', 5000),
    reorgRate: number('reorg-rate', 0.05, 1),
    reorgDepth: Math.max(1, Math.floor(number('reorg-depth', 3))),
    blockMs: number('block-ms', 0),
    bigBlock: number('big-block', 0),
    ownersPerBlock: Math.max(1, txsPerBlock / 5),
    ...(values['data-dir'] === undefined ? {} : { dataDir: values['data-dir'] }),
  }
  if (errors.length > 0) throw new UsageError(`${errors.join('; ')} (${SEE})`)
  return { node, stateFile: values['state-file'], help: values.help === true }
}

const STRINGS = ['seed', 'chain', 'mix', 'data-dir', 'state-file'] as const
const NUMBERS = [
  'port',
  'blocks',
  'days',
  'txs-per-block',
  'block-interval-ms',
  'reorg-rate',
  'reorg-depth',
  'block-ms',
  'big-block',
] as const
type NumberOption = (typeof NUMBERS)[number]
type Values = Partial<Record<(typeof STRINGS)[number] | NumberOption, string>> & { help?: boolean }

function parsed(args: readonly string[]): Values {
  const options = Object.fromEntries(
    [...STRINGS, ...NUMBERS].map((name) => [name, { type: 'string' as const }]),
  )
  try {
    return parseArgs({ args: [...args], options: { ...options, help: { type: 'boolean' } }, strict: true })
      .values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)} (${SEE})`)
  }
}
