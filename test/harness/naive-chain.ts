import { baseUnits, type NodeBlock, type NodeTx } from './node-json.js'

interface Coin {
  readonly script: string
  readonly value: bigint
}

interface HistoryRow {
  readonly txid: string
  readonly height: number
  readonly change: bigint
}

/** Figures of a chain's tip, with which every answer of that state must agree. */
export interface TipFigures {
  readonly height: number
  readonly supply: bigint
  readonly utxoCount: number
  readonly transactions: number
  readonly fundedAddresses: number
}

interface Undo {
  readonly block: NodeBlock
  readonly created: string[]
  readonly spent: [string, Coin][]
  /** Unspent outputs of an earlier transaction with the txid of a new one, which are lost (BIP 30). */
  readonly lost: [string, Coin][]
  readonly touched: string[]
}

/**
 * The oracle: the simplest possible computation of a chain's state, from the node's JSON alone (its own scripts,
 * values and addresses). Blocks are pushed and popped; the figures of every tip stay available by hash.
 */
export class NaiveChain {
  readonly coins = new Map<string, Coin>()
  readonly history = new Map<string, HistoryRow[]>()
  readonly addressOf = new Map<string, string>()
  readonly figures = new Map<string, TipFigures>()
  readonly #balance = new Map<string, bigint>()
  readonly #undo: Undo[] = []
  #transactions = 0
  #supply = 0n
  #funded = 0

  get blocks(): NodeBlock[] {
    return this.#undo.map((each) => each.block)
  }

  get tip(): NodeBlock | undefined {
    return this.#undo.at(-1)?.block
  }

  /**
   * Connects a block.
   * @returns the scripts that it touches.
   */
  push(block: NodeBlock): string[] {
    if (block.height > 0 && block.previousblockhash !== this.tip?.hash)
      throw new Error('the oracle got a block out of order')
    const undo: Undo = { block, created: [], spent: [], lost: [], touched: [] }
    for (const tx of block.tx) this.#apply(block, tx, undo)
    this.#transactions += block.tx.length
    this.#undo.push(undo)
    this.figures.set(block.hash, {
      height: block.height,
      supply: this.#supply,
      utxoCount: this.coins.size,
      transactions: this.#transactions,
      fundedAddresses: this.#funded,
    })
    return undo.touched
  }

  /**
   * Disconnects the tip.
   * @returns the scripts that it touched.
   */
  pop(): string[] {
    const undo = this.#undo.pop()
    if (undo === undefined) throw new Error('the oracle has no block to disconnect')
    for (const outpoint of undo.created) {
      const coin = this.coins.get(outpoint)
      if (coin !== undefined) this.#change(coin.script, -coin.value)
      this.coins.delete(outpoint)
    }
    for (const [outpoint, coin] of undo.spent) {
      if (undo.created.includes(outpoint)) continue
      this.coins.set(outpoint, coin)
      this.#change(coin.script, coin.value)
    }
    for (const [outpoint, coin] of undo.lost) {
      this.coins.set(outpoint, coin)
      this.#change(coin.script, coin.value)
    }
    for (const script of undo.touched) {
      const rows = this.history.get(script) ?? []
      while (rows.at(-1)?.height === undo.block.height) rows.pop()
    }
    this.#transactions -= undo.block.tx.length
    return undo.touched
  }

  balance(script: string): bigint {
    return this.#balance.get(script) ?? 0n
  }

  utxos(script: string): [string, Coin][] {
    return [...this.coins].filter(([, coin]) => coin.script === script)
  }

  #apply(block: NodeBlock, tx: NodeTx, undo: Undo): void {
    const change = new Map<string, bigint>()
    const add = (script: string, value: bigint): void => {
      change.set(script, (change.get(script) ?? 0n) + value)
    }
    for (const input of tx.vin) {
      if (input.txid === undefined) continue
      const outpoint = `${input.txid}:${String(input.vout)}`
      const coin = this.coins.get(outpoint)
      if (coin === undefined)
        throw new Error(`the node's block spends ${outpoint}, which the oracle does not have`)
      this.coins.delete(outpoint)
      undo.spent.push([outpoint, coin])
      this.#change(coin.script, -coin.value)
      add(coin.script, -coin.value)
    }
    for (const output of tx.vout) {
      const script = output.scriptPubKey.hex
      if (output.scriptPubKey.address !== undefined) this.addressOf.set(script, output.scriptPubKey.address)
      if (block.height === 0 || script.startsWith('6a') || script.length > 20_000) continue
      const coin = { script, value: baseUnits(output.value) }
      const outpoint = `${tx.txid}:${String(output.n)}`
      const lost = this.coins.get(outpoint)
      if (lost !== undefined) {
        undo.lost.push([outpoint, lost])
        this.#change(lost.script, -lost.value)
        add(lost.script, -lost.value)
      }
      this.coins.set(outpoint, coin)
      undo.created.push(outpoint)
      this.#change(script, coin.value)
      add(script, coin.value)
    }
    for (const [script, value] of change) {
      const rows = this.history.get(script) ?? []
      rows.push({ txid: tx.txid, height: block.height, change: value })
      this.history.set(script, rows)
      undo.touched.push(script)
    }
  }

  #change(script: string, value: bigint): void {
    const before = this.balance(script)
    const after = before + value
    this.#balance.set(script, after)
    this.#supply += value
    if (!this.addressOf.has(script)) return
    if (before === 0n && after > 0n) this.#funded++
    if (before > 0n && after === 0n) this.#funded--
  }
}
