import { sumOf } from '../../../pipelines/chain/amount.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { type TxInput, type TxOutput, vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import { type Coin, type CoinSet, WHALE_COIN } from '../chain/coin-set.js'
import { dataScript, type Keyring, SHOWCASE } from '../wallet/keyring.js'
import type { Random } from '../random.js'
import { sealTx, type SimTx } from '../chain/sim-tx.js'
import { inscription, unlock, type Unlocking } from '../wallet/unlock.js'

/** The coins that new transactions may spend. */
export interface Spendable {
  /** Confirmed coins, including the coins of the block that is being mined. */
  readonly coins: CoinSet
  /** Unspent outputs of unconfirmed transactions. */
  readonly unconfirmed?: CoinSet
  /** Returns whether an unconfirmed transaction spends the coin already. */
  isTaken?(coin: Coin): boolean
  /** Height of the block that would contain the transaction. */
  readonly height: number
}

/** Confirmations before a coinbase is spent. Less than the 100 of real nodes, so that short chains have transactions. */
export const MATURITY = 10
/** The blocks of which three in four coinbases are reserved for the first whale transactions. */
const TREASURY = { from: 100, to: 1200 }
/** The number of unspent outputs in the long run: above it, transactions consolidate more than they split. */
const COIN_TARGET = 100_000
const MAX_OWNERS = 50_000
const DUST = 1000n
/** Attempts to find a coin for a bulky transaction: many coins are too small to pay for it. */
const BULKY_TRIES = 200
const PRESENCE = [
  'sent with love',
  'Ünïcödé ₿ платёж 支払い 🌊',
  'invoice 2026-0042',
  '{"p":"sim-20","op":"mint","amt":"7"}',
]

/** Creates transactions as the users of a chain do. All choices depend on the given random numbers. */
export class Traffic {
  constructor(
    readonly keyring: Keyring,
    /** New owners per block. */
    readonly ownersPerBlock: number,
  ) {}

  /** Creates the owners that a chain of this height has paid; needed after reading a chain from disk. */
  meet(height: number): void {
    this.keyring.find(Buffer.alloc(0), SHOWCASE + this.#population(height))
  }

  /** Returns the next transaction, or undefined if there is nothing (or too little) to spend. */
  next(from: Spendable, random: Random): SimTx | undefined {
    for (let tries = 0; tries < 4; tries++) {
      const tx = this.#attempt(from, random)
      if (tx !== undefined) return tx
    }
    return undefined
  }

  /** Returns a transaction that spends `coins`, for replacements and conflicts. @param rate base units per vbyte. */
  respend(coins: readonly Coin[], rate: number, height: number, random: Random): SimTx | undefined {
    return this.#compose(coins, this.#scripts(1, height, random), [], rate, random)
  }

  /** Returns a transaction that moves more than 1,000 coins: a single large output, or several reserved coinbases. */
  whale(from: Spendable, random: Random): SimTx | undefined {
    const whale = [...from.coins.whales].filter((coin) => this.#mayWhale(coin, from))
    if (whale.length > 0) {
      const to = this.keyring.ownerOf(
        random.pick(['p2wpkh', 'p2tr', 'dilithium-pubkeyhash', 'p2mr']),
        random.below(3),
      )
      return this.#compose([random.pick(whale)], [to.script], [], 20, random)
    }
    const gathered: Coin[] = []
    let sum = 0n
    for (const coin of from.coins.coins) {
      if (!isTreasury(coin) || !this.#mayWhale(coin, from)) continue
      gathered.push(coin)
      sum += coin.value
      if (sum > WHALE_COIN + 10_000_000n) {
        return this.#compose(gathered, [this.keyring.ownerOf('p2wpkh', 2).script], [], 5, random)
      }
    }
    return undefined
  }

  /** Returns a transaction of at least `bytes` and of less than `weight`: an inscription if the coin is a taproot output, otherwise data outputs. */
  bulky(from: Spendable, bytes: number, weight: number, random: Random): SimTx | undefined {
    for (let tries = 0; tries < BULKY_TRIES; tries++) {
      const coin = this.#draw(from, random, [])
      const tx = coin === undefined ? undefined : this.#stuffed(coin, bytes, random)
      if (tx !== undefined && weightOf(tx, this.keyring.network) < weight) return tx
    }
    return undefined
  }

  #stuffed(coin: Coin, bytes: number, random: Random): SimTx | undefined {
    // A byte of a data output costs as much as several of an inscription, more than most coins are worth.
    const least = BigInt(bytes) * 2n + DUST
    if (this.keyring.find(coin.script, 0)?.kind === 'p2tr') {
      if (coin.value < least / BigInt(this.keyring.network.witnessScale)) return undefined
      const input = inputFor(coin, inscription(random.bytes(bytes), random))
      return fund(this.keyring.network, [coin], [input], [coin.script], [], 1, random)
    }
    if (coin.value < least) return undefined
    const payloads: Buffer[] = []
    for (let left = bytes; left > 0; left -= 8000)
      payloads.push(dataScript(random.bytes(Math.min(left, 8000))))
    return this.#compose([coin], [coin.script], payloads, 1, random)
  }

  #attempt(from: Spendable, random: Random): SimTx | undefined {
    const inputs = this.#inputs(from, random)
    if (inputs.length === 0) return undefined
    const crowd = from.coins.size / COIN_TARGET
    const place = random.fraction()
    const data = random.chance(0.08) ? [dataScript(payload(random))] : []
    const rate = feeRate(random)
    const first = inputs[0]
    if (place < 0.06 || random.chance(Math.min(0.5, crowd * crowd * 0.4))) {
      return this.#compose(inputs, this.#scripts(1, from.height, random), data, rate, random)
    }
    const recipients = random.chance(0.05 * Math.max(0.1, 1 - crowd)) ? 5 + random.below(16) : 1
    const scripts = this.#scripts(recipients, from.height, random)
    const change =
      random.chance(0.5) && first !== undefined ? [first.script] : this.#scripts(1, from.height, random)
    return this.#compose(inputs, [...scripts, ...change], data, rate, random)
  }

  /** Returns the coins to spend: mostly one, more if there are many coins, in some cases many for a consolidation. */
  #inputs(from: Spendable, random: Random): Coin[] {
    const crowd = Math.min(1.5, from.coins.size / COIN_TARGET)
    const many = random.chance(0.02)
      ? 5 + random.below(20)
      : random.chance(0.15 + crowd * 0.35)
        ? 2 + random.below(2)
        : 1
    const inputs: Coin[] = []
    for (let left = many; left > 0; left--) {
      const coin = this.#draw(from, random, inputs)
      if (coin !== undefined) inputs.push(coin)
    }
    return inputs
  }

  #draw(from: Spendable, random: Random, besides: readonly Coin[]): Coin | undefined {
    for (let tries = 0; tries < 12; tries++) {
      const unconfirmed = from.unconfirmed !== undefined && random.chance(0.15)
      const coin = unconfirmed ? from.unconfirmed.draw(random) : from.coins.draw(random)
      if (coin !== undefined && this.#mayOrdinary(coin, from) && !besides.includes(coin)) return coin
    }
    return undefined
  }

  #mayOrdinary(coin: Coin, from: Spendable): boolean {
    return coin.value < WHALE_COIN && coin.value >= DUST && !isTreasury(coin) && this.#mayWhale(coin, from)
  }

  #mayWhale(coin: Coin, from: Spendable): boolean {
    const ripe = !coin.coinbase || from.height - (coin.height ?? from.height) >= MATURITY
    return ripe && from.isTaken?.(coin) !== true
  }

  /** Returns scripts to pay: of showcase owners with a probability of 0.4 (`rich`) or 0.004 (`cheap`), otherwise by popularity. */
  #scripts(count: number, height: number, random: Random): Buffer[] {
    const population = this.#population(height)
    const showcase = this.keyring.mix === 'rich' ? 0.4 : 0.004
    return Array.from({ length: count }, () => {
      if (random.chance(showcase)) return this.keyring.owner(random.below(SHOWCASE)).script
      const place = random.fraction()
      return this.keyring.owner(SHOWCASE + Math.floor(population * place * place * place)).script
    })
  }

  #population(height: number): number {
    return Math.min(MAX_OWNERS, 30 + Math.floor(height * this.ownersPerBlock))
  }

  #compose(
    coins: readonly Coin[],
    scripts: readonly Buffer[],
    data: readonly Buffer[],
    rate: number,
    random: Random,
  ): SimTx | undefined {
    const inputs = coins.map((coin): TxInput => {
      return inputFor(coin, unlock(this.keyring, this.keyring.find(coin.script, 0), random))
    })
    return fund(this.keyring.network, coins, inputs, scripts, data, rate, random)
  }
}

/** Distributes the value of the coins, less the fee, among the scripts; returns undefined if it is too little. */
function fund(
  network: Network,
  coins: readonly Coin[],
  inputs: readonly TxInput[],
  scripts: readonly Buffer[],
  data: readonly Buffer[],
  rate: number,
  random: Random,
): SimTx | undefined {
  const planned = [...scripts, ...data].map((script) => ({ value: 0n, script }))
  const weight = weightOf(sealTx({ version: 2, locktime: 0, inputs, outputs: planned }), network)
  let left = sumOf(coins) - BigInt(Math.ceil(vsizeOf(weight, network) * rate))
  const least = DUST * BigInt(scripts.length)
  if (left < least) return undefined
  const outputs: TxOutput[] = []
  for (let others = scripts.length - 1; others >= 0; others--) {
    const script = scripts[others]
    if (script === undefined) continue
    const free = left - DUST * BigInt(others + 1)
    const value =
      others === 0 ? left : DUST + (free * BigInt(1 + random.below(900))) / BigInt(1000 * Math.max(1, others))
    left -= value
    outputs.push({ value, script })
  }
  for (const script of data) outputs.splice(random.below(outputs.length + 1), 0, { value: 0n, script })
  return sealTx({ version: 2, locktime: 0, inputs, outputs })
}

function inputFor(coin: Coin, { scriptSig, witness }: Unlocking): TxInput {
  return { prevTxid: coin.txid, prevVout: coin.vout, scriptSig, sequence: 0xfffffffd, witness }
}

function isTreasury(coin: Coin): boolean {
  const { coinbase, height } = coin
  return (
    coinbase && height !== undefined && height >= TREASURY.from && height < TREASURY.to && height % 4 !== 0
  )
}

/** Returns a fee rate in base units per vbyte: mostly low, in some cases above 100, never below the relay minimum of 1. */
function feeRate(random: Random): number {
  const place = random.fraction()
  return 1.02 + 160 * place ** 5 + 3 * random.fraction()
}

function payload(random: Random): Buffer {
  const place = random.below(10)
  if (place < 4) return Buffer.from(random.pick(PRESENCE))
  if (place < 9) return random.bytes(1 + random.below(80))
  return random.bytes(200)
}
