import { addressOf } from '../../../pipelines/chain/address.js'
import { sumOf } from '../../../pipelines/chain/amount.js'
import { movedBy } from '../../../pipelines/chain/moved.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import type { Prevout } from '../../../pipelines/chain/prevout.js'
import type { Tx } from '../../../pipelines/chain/transaction.js'
import type { Hook } from '../hooks.js'

/** A watched script that a transaction touches. Amounts are decimal strings, in base units. */
export interface ScriptMatch {
  readonly script: string
  readonly address: string | null
  readonly received: string
  /** Null while the transaction is unconfirmed: which outputs it spends is not known then. */
  readonly sent: string | null
}

/** A transaction that a hook watches. */
export interface Match {
  readonly hook: Hook
  readonly txid: string
  /** The value that it moves from the owners of its inputs to others, in base units; null while it is unconfirmed. */
  readonly moved: string | null
  readonly scripts: readonly ScriptMatch[]
}

type Coin = Pick<Prevout, 'value' | 'script'>

/** The hooks of one version of the file, by what they watch. */
export class HookSet {
  readonly #byScript = new Map<string, Hook[]>()
  readonly #byTxid = new Map<string, Hook[]>()
  readonly #large: readonly Hook[]

  constructor(
    readonly all: readonly Hook[],
    private readonly network: Network,
  ) {
    for (const hook of all) {
      for (const script of hook.scripts.keys()) add(this.#byScript, keyOf(Buffer.from(script, 'hex')), hook)
      for (const txid of hook.txids) add(this.#byTxid, txid, hook)
    }
    this.#large = all.filter(({ minValue }) => minValue !== undefined)
  }

  /** Returns the matches of a block's transactions. @param prevouts the outputs that its inputs spend, in order, without the coinbase. */
  inBlock(txs: readonly Tx[], prevouts: readonly Coin[]): Match[] {
    let spent = 0
    return txs.flatMap((tx) => {
      const coins = tx.isCoinbase ? [] : prevouts.slice(spent, (spent += tx.inputs.length))
      return this.of(tx, coins)
    })
  }

  /** Returns the matches of a transaction, by hook. @param coins the outputs that it spends; undefined if they are not known. */
  of(tx: Tx, coins: readonly Coin[] | undefined): Match[] {
    const hooks = new Set(this.#byTxid.get(tx.txid))
    for (const { script } of [...tx.outputs, ...(coins ?? [])])
      for (const hook of this.#byScript.get(keyOf(script)) ?? []) hooks.add(hook)
    const moved = coins && (hooks.size > 0 || this.#large.length > 0) ? movedBy(tx, coins) : undefined
    if (moved !== undefined)
      for (const hook of this.#large) if (moved >= (hook.minValue as bigint)) hooks.add(hook)
    return [...hooks].map((hook) => {
      return {
        hook,
        txid: tx.txid,
        moved: moved?.toString() ?? null,
        scripts: this.#scriptsOf(hook, tx, coins),
      }
    })
  }

  #scriptsOf(hook: Hook, tx: Tx, coins: readonly Coin[] | undefined): ScriptMatch[] {
    const touched = new Set([...tx.outputs, ...(coins ?? [])].map(({ script }) => script.toString('hex')))
    return [...touched].flatMap((script) => {
      const address = hook.scripts.get(script)
      if (address === undefined) return []
      const bytes = Buffer.from(script, 'hex')
      const totalIn = (list: readonly Coin[]): string =>
        sumOf(list.filter((each) => each.script.equals(bytes))).toString()
      return {
        script,
        address: address ?? addressOf(bytes, this.network) ?? null,
        received: totalIn(tx.outputs),
        sent: coins === undefined ? null : totalIn(coins),
      }
    })
  }
}

const keyOf = (script: Buffer): string => script.toString('latin1')

function add(map: Map<string, Hook[]>, key: string, hook: Hook): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [hook])
  else list.push(hook)
}
