import { sumOf } from '../../../pipelines/chain/amount.js'
import { type BlockHeader, blockHash, merkleRoot, serializeHeader } from '../../../pipelines/chain/block.js'
import { ByteWriter } from '../../../pipelines/chain/bytes.js'
import { internalBytes, sha256d } from '../../../pipelines/chain/hash.js'
import { type Network, subsidy } from '../../../pipelines/chain/networks.js'
import type { TxOutput } from '../../../pipelines/chain/transaction.js'
import { isUnspendable } from '../../../pipelines/chain/script.js'
import { Coin, type CoinSet } from './coin-set.js'
import { BITS } from './genesis.js'
import { coinbaseScript } from './mining-pools.js'
import { NO_TXID, sealTx, type SimTx } from './sim-tx.js'

/** The header fields and the coinbase of a block to close. */
export interface Closing {
  readonly version?: number | undefined
  readonly time: number
  readonly prevHash: string
  readonly tag: string
  readonly extraNonce: Buffer
  /** Returns the coinbase outputs before the witness commitment. @param reward subsidy and fees, base units. */
  readonly payout: (reward: bigint) => readonly TxOutput[]
  /** The coinbase of an earlier block, to be repeated instead of a new one (BIP 30). */
  readonly repeated?: SimTx | undefined
}

export interface ClosedBlock {
  readonly hash: string
  readonly raw: Buffer
  readonly txs: readonly SimTx[]
  /** The unspent outputs that its coinbase replaced. */
  readonly overwritten: readonly Coin[]
}

const BLOCK_VERSION = 0x20000000
const RESERVED = Buffer.alloc(32)
const COMMITMENT = Buffer.from('6a24aa21a9ed', 'hex')
/** The first 24 bits of the target of BITS. */
const TARGET = '7fffff'

/** A block that is not closed yet. Each added transaction changes the coins immediately, so that the next one can spend it. */
export class BlockDraft {
  readonly txs: SimTx[] = []
  readonly spent: Coin[] = []
  fees = 0n

  constructor(
    readonly coins: CoinSet,
    readonly height: number,
    readonly network: Network,
  ) {}

  /**
   * Adds a transaction and returns its fee. @throws, without changing the coins, if an input is not unspent or the outputs are
   * worth more than the inputs.
   */
  add(tx: SimTx): bigint {
    const coins: Coin[] = []
    let fee = -sumOf(tx.outputs)
    for (const input of tx.inputs) {
      const coin = this.coins.remove(input.prevTxid, input.prevVout)
      if (coin === undefined) {
        this.#giveBack(coins)
        throw new Error(`${tx.txid} spends ${input.prevTxid}:${String(input.prevVout)}, which is not unspent`)
      }
      coins.push(coin)
      fee += coin.value
    }
    if (fee < 0n) {
      this.#giveBack(coins)
      throw new Error(`${tx.txid} pays out ${String(-fee)} more than it takes in`)
    }
    addOutputs(this.coins, tx, this.height)
    for (const coin of coins) this.spent.push(coin)
    this.txs.push(tx)
    this.fees += fee
    return fee
  }

  /** Reverts all added transactions. */
  abandon(): void {
    revert(this.coins, this.txs, this.spent)
    this.txs.length = 0
  }

  /** Adds the coinbase, finds a nonce and serialises the block. @throws, without a change, if its coinbase cannot be repeated. */
  close(closing: Closing): ClosedBlock {
    const coinbase =
      closing.repeated === undefined ? this.#coinbase(closing) : this.#repeatable(closing.repeated)
    const overwritten = addOutputs(this.coins, coinbase, this.height)
    const txs = [coinbase, ...this.txs]
    const header = mineHeader(this.network, {
      version: closing.version ?? BLOCK_VERSION,
      prevHash: closing.prevHash,
      merkleRoot: merkleRoot(txs.map((tx) => tx.txid)),
      time: closing.time,
      bits: BITS,
      nonce: 0,
    })
    const count = new ByteWriter().compactSize(txs.length).finish()
    const raw = Buffer.concat([header.bytes, count, ...txs.map((tx) => tx.raw)])
    return { hash: header.hash, raw, txs, overwritten }
  }

  /** Returns the coinbase. @throws if a node would refuse a block of this draft's transactions with it. */
  #repeatable(coinbase: SimTx): SimTx {
    if (coinbase.hasWitness || this.txs.some((tx) => tx.hasWitness))
      throw new Error(`${coinbase.txid} cannot be repeated: a commitment to witnesses is of one block only`)
    if (sumOf(coinbase.outputs) > subsidy(this.height, this.network) + this.fees)
      throw new Error(`${coinbase.txid} cannot be repeated: its outputs are worth more than the reward`)
    if (this.spent.some(({ txid }) => txid === coinbase.txid))
      throw new Error(`${coinbase.txid} cannot be repeated in a block that spends it`)
    return coinbase
  }

  #coinbase({ tag, extraNonce, payout }: Closing): SimTx {
    const outputs = [...payout(subsidy(this.height, this.network) + this.fees)]
    const witness = this.txs.some((tx) => tx.hasWitness)
    if (witness) outputs.push({ value: 0n, script: this.#commitment() })
    return sealTx({
      version: 2,
      locktime: 0,
      inputs: [
        {
          prevTxid: NO_TXID,
          prevVout: 0xffffffff,
          scriptSig: coinbaseScript(this.height, tag, extraNonce),
          sequence: 0xffffffff,
          witness: witness ? [RESERVED] : [],
        },
      ],
      outputs,
    })
  }

  #commitment(): Buffer {
    // BIP 141: the wtxid of the coinbase counts as zero.
    const root = internalBytes(merkleRoot([NO_TXID, ...this.txs.map((tx) => tx.wtxid)]))
    return Buffer.concat([COMMITMENT, sha256d(Buffer.concat([root, RESERVED]))])
  }

  #giveBack(coins: readonly Coin[]): void {
    for (const coin of coins.toReversed()) this.coins.add(coin)
  }
}

/**
 * Adds the spendable outputs of a transaction. Those of genesis are unspendable. Only a coinbase may exist already.
 * @returns its unspent outputs that were replaced.
 */
export function addOutputs(
  coins: CoinSet,
  tx: { readonly txid: string; readonly isCoinbase: boolean; readonly outputs: readonly TxOutput[] },
  height: number | undefined,
): readonly Coin[] {
  if (height === 0) return []
  return tx.outputs.flatMap((output, vout) => {
    if (isUnspendable(output.script)) return []
    const replaced = tx.isCoinbase ? coins.remove(tx.txid, vout) : undefined
    coins.add(new Coin(tx.txid, vout, output.value, output.script, height, tx.isCoinbase))
    return replaced ?? []
  })
}

/** Reverts transactions, last first: removes their outputs and adds the coins that they spent, given in the order of the inputs. */
export function revert(
  coins: CoinSet,
  txs: readonly Pick<SimTx, 'txid' | 'isCoinbase' | 'inputs' | 'outputs'>[],
  spent: readonly Coin[],
): void {
  let next = spent.length
  for (const tx of txs.toReversed()) {
    for (let vout = tx.outputs.length - 1; vout >= 0; vout--) coins.remove(tx.txid, vout)
    if (tx.isCoinbase) continue
    for (let input = tx.inputs.length - 1; input >= 0; input--) {
      const coin = spent[--next]
      if (coin === undefined) throw new Error('less undo data than inputs')
      coins.add(coin)
    }
  }
}

function mineHeader(network: Network, header: BlockHeader): { bytes: Buffer; hash: string } {
  const bytes = Buffer.from(serializeHeader(header))
  for (let nonce = 0; ; nonce++) {
    bytes.writeUInt32LE(nonce, 76)
    const hash = blockHash(bytes, network)
    if (hash.slice(0, 6) < TARGET) return { bytes, hash }
  }
}
