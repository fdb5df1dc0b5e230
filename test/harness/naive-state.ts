import { outpoint } from '../../services/simnode/chain/coin-set.js'
import type { SimBlock } from '../../services/simnode/chain/sim-block.js'
import type { SimChain } from '../../services/simnode/chain/sim-chain.js'

export interface NaiveCoin {
  readonly txid: string
  readonly vout: number
  readonly script: string
  readonly value: bigint
  readonly height: number
}

export interface NaiveRow {
  readonly txid: string
  readonly height: number
  readonly index: number
  readonly received: bigint
  readonly sent: bigint
}

/**
 * The naive oracle: applies every block from genesis to the tip of a branch to plain maps. It reads only the serialised blocks
 * and shares nothing with the coins that the chain keeps. The rule for spendable outputs is implemented again on purpose.
 */
export class NaiveState {
  readonly #coins = new Map<string, NaiveCoin>()
  readonly #history = new Map<string, NaiveRow[]>()
  supply = 0n
  transactions = 0

  constructor(chain: SimChain, tip: SimBlock = chain.tip) {
    for (const block of [...tip.back()].reverse()) {
      const { txs } = chain.read(block)
      txs.forEach((tx, index) => {
        const row = (script: string, received: bigint, sent: bigint): void => {
          this.#addRow(script, { txid: tx.txid, height: block.height, index, received, sent })
        }
        if (!tx.isCoinbase)
          for (const input of tx.inputs) this.#spend(outpoint(input.prevTxid, input.prevVout), row)
        tx.outputs.forEach((output, vout) => {
          const script = output.script.toString('hex')
          // The outputs of genesis and data outputs are unspendable.
          if (block.height === 0 || script.startsWith('6a') || output.script.length > 10_000) return
          const coin = { txid: tx.txid, vout, script, value: output.value, height: block.height }
          // BIP 30: the coinbase of an earlier block again. The output of the first one never existed, if it is unspent.
          const lost = this.#coins.get(outpoint(tx.txid, vout))?.value ?? 0n
          this.supply += output.value - lost
          this.#coins.set(outpoint(tx.txid, vout), coin)
          row(script, output.value, lost)
        })
      })
      this.transactions += txs.length
    }
  }

  /** Returns the unspent outputs by `txid:vout`. */
  utxos(): ReadonlyMap<string, NaiveCoin> {
    return this.#coins
  }

  /** Returns the unspent value by script (hex), without zeros. */
  balances(): Map<string, bigint> {
    const balances = new Map<string, bigint>()
    for (const { script, value } of this.#coins.values())
      balances.set(script, (balances.get(script) ?? 0n) + value)
    for (const [script, value] of balances) if (value === 0n) balances.delete(script)
    return balances
  }

  /** Returns the transactions that pay a script or spend from it, oldest first. */
  history(script: string): readonly NaiveRow[] {
    return this.#history.get(script) ?? []
  }

  /** Returns all scripts that were ever paid. */
  scripts(): IterableIterator<string> {
    return this.#history.keys()
  }

  #spend(point: string, row: (script: string, received: bigint, sent: bigint) => void): void {
    const coin = this.#coins.get(point)
    if (coin === undefined) throw new Error(`the chain spends ${point}, which is not unspent`)
    this.#coins.delete(point)
    this.supply -= coin.value
    row(coin.script, 0n, coin.value)
  }

  #addRow(script: string, row: NaiveRow): void {
    const rows = this.#history.get(script) ?? []
    const last = rows.at(-1)
    if (last?.txid === row.txid && last.height === row.height) {
      rows[rows.length - 1] = { ...last, received: last.received + row.received, sent: last.sent + row.sent }
    } else rows.push(row)
    this.#history.set(script, rows)
  }
}
