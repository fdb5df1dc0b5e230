import type { Random } from '../random.js'

/** An unspent output; `height` is undefined while its transaction is unconfirmed. */
export class Coin {
  /** Index in the list of its set, for removal in constant time. */
  slot = -1

  constructor(
    readonly txid: string,
    readonly vout: number,
    readonly value: bigint,
    readonly script: Buffer,
    readonly height: number | undefined,
    readonly coinbase: boolean,
  ) {}
}

export function outpoint(txid: string, vout: number): string {
  return `${txid}:${String(vout)}`
}

/** The least value of a whale's coin, in base units. Ordinary traffic does not spend whales' coins, so that whales can move them. */
export const WHALE_COIN = 100_000_000_000n

/** Unspent outputs by outpoint, with their sum, and as a list for random choice. */
export class CoinSet {
  readonly #byOutpoint = new Map<string, Coin>()
  readonly #list: Coin[] = []
  readonly whales = new Set<Coin>()
  total = 0n

  get size(): number {
    return this.#list.length
  }

  /** The coins in arbitrary order. */
  get coins(): readonly Coin[] {
    return this.#list
  }

  get(txid: string, vout: number): Coin | undefined {
    return this.#byOutpoint.get(outpoint(txid, vout))
  }

  add(coin: Coin): void {
    const key = outpoint(coin.txid, coin.vout)
    if (this.#byOutpoint.has(key)) throw new Error(`output ${key} already exists`)
    this.#byOutpoint.set(key, coin)
    coin.slot = this.#list.length
    this.#list.push(coin)
    this.total += coin.value
    if (coin.value >= WHALE_COIN) this.whales.add(coin)
  }

  /** Removes a coin. @returns it, undefined if there is none. */
  remove(txid: string, vout: number): Coin | undefined {
    const key = outpoint(txid, vout)
    const coin = this.#byOutpoint.get(key)
    if (coin === undefined) return undefined
    this.#byOutpoint.delete(key)
    const last = this.#list.pop()
    if (last !== undefined && last !== coin) {
      this.#list[coin.slot] = last
      last.slot = coin.slot
    }
    coin.slot = -1
    this.total -= coin.value
    if (coin.value >= WHALE_COIN) this.whales.delete(coin)
    return coin
  }

  /** Returns a random coin, in some cases one of the newest, so that some outputs are spent soon after their creation. */
  draw(random: Random): Coin | undefined {
    const size = this.#list.length
    if (size === 0) return undefined
    const recent = Math.min(size, 40)
    return random.chance(0.15) ? this.#list[size - 1 - random.below(recent)] : this.#list[random.below(size)]
  }
}
