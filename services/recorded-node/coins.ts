import { coinsToBaseUnits } from '../../pipelines/chain/amount.js'
import { isUnspendable } from '../../pipelines/chain/script.js'
import type { RecordedBlock, RecordedTx } from './timeline.js'

export interface Coin {
  readonly txid: string
  readonly vout: number
  readonly script: string
  readonly desc: string
  /** Value in base units. */
  readonly value: bigint
  readonly height: number
  readonly coinbase: boolean
}

/** The unspent outputs of the chain, as gettxoutsetinfo counts them: without block 0 and without unspendable outputs. */
export class CoinSet {
  readonly #coins = new Map<string, Coin>()

  get coins(): ReadonlyMap<string, Coin> {
    return this.#coins
  }

  connect(block: RecordedBlock): void {
    for (const tx of block.tx) {
      for (const { txid, vout } of tx.vin) if (txid !== undefined) this.#coins.delete(outpoint(txid, vout))
      for (const coin of created(block, tx)) this.#coins.set(outpoint(coin.txid, coin.vout), coin)
    }
  }

  disconnect(block: RecordedBlock): void {
    for (const tx of [...block.tx].reverse()) {
      for (const coin of created(block, tx)) this.#coins.delete(outpoint(coin.txid, coin.vout))
      for (const { txid, vout, prevout } of tx.vin) {
        if (txid === undefined || vout === undefined || prevout === undefined) continue
        const { value, height, generated, scriptPubKey } = prevout
        const spent = { txid, vout, height, coinbase: generated, value: coinsToBaseUnits(value) }
        this.#coins.set(outpoint(txid, vout), { ...spent, script: scriptPubKey.hex, desc: scriptPubKey.desc })
      }
    }
  }
}

function outpoint(txid: string, vout: number | undefined): string {
  return `${txid}:${String(vout)}`
}

function created(block: RecordedBlock, tx: RecordedTx): Coin[] {
  if (block.height === 0) return []
  const coinbase = tx.vin[0]?.txid === undefined
  return tx.vout
    .filter(({ scriptPubKey }) => !isUnspendable(Buffer.from(scriptPubKey.hex, 'hex')))
    .map(({ n, value, scriptPubKey: { hex, desc } }) => {
      const where = { txid: tx.txid, vout: n, height: block.height, coinbase }
      return { ...where, script: hex, desc, value: coinsToBaseUnits(value) }
    })
}
