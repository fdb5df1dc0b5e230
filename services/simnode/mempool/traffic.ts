import { sumOf } from '../../../pipelines/chain/amount.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { type TxInput, type TxOutput, vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import { Coin, type CoinSet, WHALE_COIN } from '../chain/coin-set.js'
import { type MempoolEntry, TRUC } from './mempool.js'
import { ANCHOR, dataScript, type Keyring } from '../wallet/keyring.js'
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
/** The owners whom large amounts are moved to. */
const WHALES = {
  dilithium: ['p2wpkh', 'p2tr', 'dilithium-pubkeyhash', 'p2mr'],
  bitcoin: ['p2wpkh', 'p2tr', 'p2wsh', 'p2pkh'],
} as const
/** The value of an anchor output in base units: less is dust. */
const ANCHOR_VALUE = 240n
/** The value that pays for an anchor output and its bytes. */
const ANCHOR_COST = 280n
const FINAL = 0xffffffff
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
    this.keyring.find(Buffer.alloc(0), this.keyring.showcase + this.#population(height))
  }

  /** Returns the next transaction, or undefined if there is nothing (or too little) to spend. */
  next(from: Spendable, random: Random): SimTx | undefined {
    for (let tries = 0; tries < 4; tries++) {
      const tx = this.#attempt(from, random)
      if (tx !== undefined) return this.#isBitcoin ? dressed(tx, from.height, random) : tx
    }
    return undefined
  }

  /** Returns a child that pays for an unconfirmed transaction with an anchor output (CPFP); undefined for any other. */
  sponsor(parent: SimTx, from: Omit<Spendable, 'unconfirmed'>, random: Random): SimTx | undefined {
    const vout = parent.outputs.findIndex(({ script }) => script.equals(ANCHOR))
    const payer = vout < 0 ? undefined : this.#draw(from, random, [])
    if (payer === undefined) return undefined
    const anchor = new Coin(parent.txid, vout, ANCHOR_VALUE, ANCHOR, undefined, false)
    const rate = 20 + random.below(60)
    const tx = this.#compose([anchor, payer], this.#scripts(1, from.height, random), [], rate, random)
    return tx && sealTx({ ...tx, version: TRUC })
  }

  /** Returns a transaction that spends the coins of another one, to replace it. @param rate base units per vbyte. */
  respend(
    { tx: { version }, spends }: Pick<MempoolEntry, 'tx' | 'spends'>,
    rate: number,
    height: number,
    random: Random,
  ): SimTx | undefined {
    const tx = this.#compose(spends, this.#scripts(1, height, random), [], rate, random)
    return tx && sealTx({ ...tx, version })
  }

  /** Returns a transaction that moves more than 1,000 coins: a single large output, or several reserved coinbases. */
  whale(from: Spendable, random: Random): SimTx | undefined {
    const whale = [...from.coins.whales].filter((coin) => this.#mayWhale(coin, from))
    if (whale.length > 0) {
      const to = this.keyring.ownerOf(
        random.pick(this.#isBitcoin ? WHALES.bitcoin : WHALES.dilithium),
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

  get #isBitcoin(): boolean {
    return this.keyring.network.dilithium === undefined
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
      if (random.chance(showcase)) return this.keyring.owner(random.below(this.keyring.showcase)).script
      const place = random.fraction()
      return this.keyring.owner(this.keyring.showcase + Math.floor(population * place * place * place)).script
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

/** Returns a transaction with the version, locktime and sequence numbers of one of Bitcoin's wallets; some get an anchor output. */
function dressed(tx: SimTx, height: number, random: Random): SimTx {
  const place = random.fraction()
  const final = (sequence: number): TxInput[] => tx.inputs.map((input) => ({ ...input, sequence }))
  if (place < 0.1) return sealTx({ ...tx, version: 1, inputs: final(FINAL) })
  if (place < 0.35) return sealTx({ ...tx, locktime: height - 1, inputs: final(FINAL - 1) })
  if (place > 0.9) return sealTx({ ...tx, version: TRUC, outputs: anchored(tx.outputs) })
  return tx
}

/** Adds an anchor output, which the first output pays if it is worth enough. */
function anchored([first, ...others]: readonly TxOutput[]): TxOutput[] {
  if (first === undefined) return []
  if (first.value < ANCHOR_COST + DUST) return [first, ...others]
  return [{ ...first, value: first.value - ANCHOR_COST }, ...others, { value: ANCHOR_VALUE, script: ANCHOR }]
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
