import { coins } from './rpc/block-json.js'
import { outpoint } from './chain/coin-set.js'
import { FAULT_KINDS, type FaultKind, type Faults } from './faults.js'
import type { Simulation } from './simulation.js'

/** The parts of the node that the control routes act on. */
export interface Controlled {
  readonly simulation: Simulation
  readonly faults: Faults
  /** Starts over with genesis only. */
  empty(seed?: string): void
}

/**
 * Answers the control routes, with which tests change the node: `POST /control/…` returns the state after the change, like
 * `GET /control/state`.
 * @returns JSON, or undefined for an unknown path. @throws RangeError for an invalid argument.
 */
export function control(
  node: Controlled,
  method: string,
  { pathname, searchParams }: URL,
): string | undefined {
  const [, root, action = ''] = pathname.split('/')
  if (root !== 'control') return undefined
  const number = (name: string, otherwise: number): number => numberOf(searchParams, name) ?? otherwise
  if (action === 'state') {
    const hasFlag = (name: string): boolean => searchParams.get(name) === '1'
    return stateJson(node, { balances: hasFlag('balances'), coins: hasFlag('coins') })
  }
  if (method !== 'POST') return undefined
  const { simulation } = node
  switch (action) {
    case 'mine': {
      const txs = numberOf(searchParams, 'txs')
      simulation.mine({
        blocks: number('blocks', 1),
        bytes: number('bytes', 0),
        ...(txs === undefined ? {} : { txs }),
      })
      break
    }
    case 'reorg': {
      const depth = number('depth', 1)
      simulation.reorg(depth, number('length', depth + 1))
      break
    }
    case 'pool':
      simulation.enter(number('enter', 0))
      simulation.replace(number('replace', 0))
      simulation.evict(number('evict', 0))
      break
    case 'tip-back':
      simulation.tipBack(number('blocks', 1))
      break
    case 'empty':
      node.empty(searchParams.get('seed') ?? undefined)
      break
    case 'fault':
      orderFault(node.faults, searchParams, number('count', 1), number('ms', 1000))
      break
    default:
      return undefined
  }
  return stateJson(node)
}

function orderFault(faults: Faults, query: URLSearchParams, count: number, ms: number): void {
  const kind = FAULT_KINDS.find((each): each is FaultKind => each === query.get('kind'))
  if (kind === undefined) throw new RangeError(`kind must be one of ${FAULT_KINDS.join(', ')}`)
  if (count === 0) faults.clear()
  else faults.order({ kind, ms, method: query.get('method') ?? undefined }, count)
}

function stateJson(
  { simulation, faults }: Controlled,
  options: { readonly balances?: boolean; readonly coins?: boolean } = {},
): string {
  const { chain, mempool } = simulation
  const state = {
    height: chain.tip.height,
    hash: chain.tip.hash,
    supply: chain.coins.total.toString(),
    supplyCoins: coins(chain.coins.total),
    utxoCount: chain.coins.size,
    pool: [...mempool.entries()].map((entry) => entry.tx.txid),
    faults: faults.pending,
    ...(options.balances === true ? { balances: balances(simulation) } : {}),
    ...(options.coins === true ? { coins: coinValues(simulation) } : {}),
  }
  return JSON.stringify(state)
}

/** Returns the balances in base units, by script (hex). */
function balances({ chain }: Simulation): Record<string, string> {
  const sums = new Map<string, bigint>()
  for (const coin of chain.coins.coins) {
    const script = coin.script.toString('hex')
    sums.set(script, (sums.get(script) ?? 0n) + coin.value)
  }
  return Object.fromEntries([...sums].map(([script, sum]) => [script, sum.toString()]))
}

/** Returns the values of unspent outputs in base units, by outpoint. */
function coinValues({ chain }: Simulation): Record<string, string> {
  return Object.fromEntries(
    chain.coins.coins.map(({ txid, vout, value }) => [outpoint(txid, vout), value.toString()]),
  )
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new RangeError(`${name} must be an integer, got '${text}'`)
  return Number(text)
}
