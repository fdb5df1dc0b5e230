import type { Random } from '../random.js'

/** An unspent output. `height` is undefined while its transaction is unconfirmed. */
export class Coin {
  /** Its place in the set's list, so that taking it out is quick. */
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

/** From here on a coin is a whale's: ordinary traffic leaves it alone, so that it is there to be moved. */
export const WHALE_COIN = 100_000_000_000n

/** Unspent outputs by outpoint, with their sum, and in a list from which one can be taken at random. */
export class CoinSet {
  readonly #byOutpoint = new Map<string, Coin>()
  readonly #list: Coin[] = []
  readonly whales = new Set<Coin>()
  total = 0n

  get size(): number {
    return this.#list.length
  }

  /** In no order that means anything. */
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

  /** @returns the coin taken out, undefined where there was none. */
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

  /** One of the coins; now and then one of those that came last, so that fresh outputs are spent on at once. */
  draw(random: Random): Coin | undefined {
    const size = this.#list.length
    if (size === 0) return undefined
    const recent = Math.min(size, 40)
    return random.chance(0.15) ? this.#list[size - 1 - random.below(recent)] : this.#list[random.below(size)]
  }
}
