import { parseArgs } from 'node:util'
import { findNetwork, type Network, NETWORKS, REGTEST } from '../../pipelines/chain/networks.js'
import { type Condition, CONDITIONS, conditionsOf, isCondition } from './conditions.js'
import { type Control, CONTROLS, isControl } from './controls.js'

export interface ChaosOptions {
  readonly seed: number
  readonly rounds: number
  readonly log: 'embedded' | 'kafka'
  /** The network that is simulated. */
  readonly network: Network
  /** Protections to remove, each in a world of its own. */
  readonly controls: readonly Control[]
  /** The names of the faults to make. */
  readonly only: readonly string[]
  /** Conditions of all rounds. */
  readonly conditions: readonly Condition[]
  /** True if the worlds of controls are kept for inspection, as the world of a real failure is. */
  readonly keep: boolean
}

/** Thrown for an invalid command line; the message names the error. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const USAGE = `usage: npm run chaos -- [options]
  --seed S            selects the order and the times of the faults (default 1)
  --rounds N          number of rounds (default 20; 8 for each control)
  --log NAME          embedded (default) or kafka
  --chain NAME        simulates this chain: ${[...NETWORKS.keys()].join(', ')} (default ${REGTEST.name})
  --control           removes each protection in turn: every run must find damage, so 1 is the expected exit status
  --without NAME      removes only this protection: ${Object.keys(CONTROLS).join(', ')}
  --keep              keeps the data of a world without a protection; by default it is removed, because it is expected to be wrong
  --only FAULT        this fault only; may be given more than once
  --condition NAME    a condition of the whole run; may be given more than once: ${Object.keys(CONDITIONS).join(', ')};
                      none for no condition (default: by the seed, each for one of eight seeds and all for another; none for a control)
exit status: 0 no difference, 1 a difference, 2 it could not be run;
with --control and --without: 1 damage was found without each of these protections, as expected, 0 not without each of them, 2 as above`

const CONTROL_ROUNDS = 8
const ROUNDS = 20

/**
 * Reads the command line.
 * @returns undefined for `--help`.
 * @throws UsageError.
 */
export function readCommandLine(args: readonly string[]): ChaosOptions | undefined {
  const values = parsed(args)
  if (values.help === true) return undefined
  const number = (name: 'seed' | 'rounds', otherwise: number): number => {
    const text = values[name] ?? String(otherwise)
    if (!/^\d{1,9}$/.test(text) || (name === 'rounds' && text === '0'))
      throw new UsageError(`--${name} must be an integer, got '${text}'`)
    return Number(text)
  }
  const log = values.log ?? 'embedded'
  if (log !== 'embedded' && log !== 'kafka') throw new UsageError('--log is embedded or kafka')
  const network = findNetwork(values.chain ?? REGTEST.name)
  if (network === undefined) throw new UsageError(`--chain is one of ${[...NETWORKS.keys()].join(', ')}`)
  const controls = (values.without ?? (values.control === true ? Object.keys(CONTROLS) : [])).map((name) => {
    if (!isControl(name)) throw new UsageError(`--without is one of ${Object.keys(CONTROLS).join(', ')}`)
    return name
  })
  const conditions = conditionsGiven(values.condition)
  const rounds = number('rounds', controls.length > 0 ? CONTROL_ROUNDS : ROUNDS)
  const seed = number('seed', 1)
  return {
    seed,
    rounds,
    conditions: conditions ?? (controls.length > 0 ? [] : conditionsOf(seed)),
    log,
    network,
    controls,
    only: values.only ?? [],
    keep: values.keep === true,
  }
}

/** @returns undefined if the option is absent. */
function conditionsGiven(names: readonly string[] | undefined): Condition[] | undefined {
  if (names?.length === 1 && names[0] === 'none') return []
  return names?.map((name) => {
    if (!isCondition(name))
      throw new UsageError(`--condition is one of ${Object.keys(CONDITIONS).join(', ')}, none`)
    return name
  })
}

interface Values {
  readonly seed?: string | undefined
  readonly rounds?: string | undefined
  readonly log?: string | undefined
  readonly chain?: string | undefined
  readonly control?: boolean | undefined
  readonly without?: string[] | undefined
  readonly only?: string[] | undefined
  readonly condition?: string[] | undefined
  readonly keep?: boolean | undefined
  readonly help?: boolean | undefined
}

function parsed(args: readonly string[]): Values {
  try {
    const text = { type: 'string' } as const
    return parseArgs({
      args: [...args],
      options: {
        seed: text,
        rounds: text,
        log: text,
        chain: text,
        control: { type: 'boolean' },
        without: { ...text, multiple: true },
        only: { ...text, multiple: true },
        condition: { ...text, multiple: true },
        keep: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}
