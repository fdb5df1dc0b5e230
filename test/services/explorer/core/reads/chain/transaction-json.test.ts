import { describe, expect, it } from 'vitest'
import { addressOf } from '../../../../../../pipelines/chain/address.js'
import { REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { scriptType } from '../../../../../../pipelines/chain/script.js'
import { ByteReader } from '../../../../../../pipelines/chain/bytes.js'
import {
  parseTx,
  readTx,
  type SerializedTx,
  serializeTx,
  type Tx,
} from '../../../../../../pipelines/chain/transaction.js'
import {
  transactionJson,
  type TransactionSource,
} from '../../../../../../services/explorer/core/reads/chain/transaction-json.js'
import { Transaction } from '../../../../../../services/explorer/core/reads/shapes.js'
import { baseUnits, type NodeTx } from '../../../../../harness/node-json.js'
import { readFrames } from '../../../../../harness/recording.js'

const network = REGTEST

type Source = Omit<TransactionSource, 'body' | 'witness' | 'witnessSize' | 'txid' | 'network'>

const BLOCK = { hash: 'ab'.repeat(32), height: 7, txIndex: 3 }
const CONFIRMED: Source = {
  coins: [],
  block: BLOCK,
  time: 1_700_000_000,
  isDilithium: false,
  spends: [],
  full: true,
}

const sourceOf = ({ txid, body, witness }: SerializedTx, source: Source): TransactionSource => ({
  ...source,
  txid,
  body,
  witness,
  witnessSize: witness.length,
  network,
})

/** The same transaction, field by field from the parsed one. */
function naive(tx: Tx, { block, coins, spends, time, full, isDilithium, fee }: Source): Transaction {
  const values = (each: readonly ({ value: bigint } | undefined)[]): bigint =>
    each.reduce((sum, coin) => sum + (coin === undefined ? 0n : coin.value), 0n)
  const weight = tx.strippedSize * (network.witnessScale - 1) + tx.size
  const block_height = block?.height ?? null
  return {
    txid: tx.txid,
    block_hash: block?.hash ?? null,
    block_height,
    tx_index: block?.txIndex ?? null,
    version: tx.version,
    size: tx.size,
    vsize: Math.ceil(weight / network.witnessScale),
    weight,
    locktime: String(tx.locktime),
    is_coinbase: tx.isCoinbase,
    fee: String(fee ?? (tx.isCoinbase ? 0n : values(coins) - values(tx.outputs))),
    input_count: tx.inputs.length,
    output_count: tx.outputs.length,
    input_value: String(values(coins)),
    output_value: String(values(tx.outputs)),
    timestamp: new Date(time * 1000).toISOString(),
    has_witness: tx.hasWitness,
    is_dilithium: isDilithium,
    inputs: tx.inputs.map((input, vin) => ({
      txid: tx.txid,
      vin,
      block_height,
      prev_txid: tx.isCoinbase ? null : input.prevTxid,
      prev_vout: tx.isCoinbase ? null : input.prevVout,
      ...(full ? { script_sig: input.scriptSig.toString('hex') || null } : {}),
      sequence: String(input.sequence),
      ...(full ? { witness: input.witness.map((item) => item.toString('hex')) } : {}),
      value: coins[vin]?.value.toString() ?? null,
      address: (coins[vin] && addressOf(coins[vin].script, network)) ?? null,
      script_pub_key: coins[vin]?.script.toString('hex') ?? null,
      script_type: coins[vin] === undefined ? null : scriptType(coins[vin].script, network),
    })),
    outputs: tx.outputs.map(({ value, script }, vout) => {
      const spend = spends.find(({ prevVout }) => prevVout === vout)
      const address = addressOf(script, network)
      return {
        txid: tx.txid,
        vout,
        block_height,
        value: String(value),
        script_pub_key: script.toString('hex'),
        script_type: scriptType(script, network),
        spent_txid: spend?.txid ?? null,
        spent_vin: spend?.vin ?? null,
        addresses: address === undefined ? [] : [{ address, role: 'recipient' as const }],
      }
    }),
  }
}

/** The transactions of the recording, with the outputs that they spend as the node reports them. */
const recorded = readFrames()
  .flatMap(({ connected }) => connected)
  .flatMap(({ block }) => block.tx as (NodeTx & { hex: string })[])
  .map(({ hex, vin }) => ({
    tx: readTx(new ByteReader(Buffer.from(hex, 'hex'))),
    coins: vin.flatMap(({ prevout }) =>
      prevout === undefined
        ? []
        : [{ value: baseUnits(prevout.value), script: Buffer.from(prevout.scriptPubKey.hex, 'hex') }],
    ),
  }))

describe('the JSON of a transaction', () => {
  it('is that of its fields, for every transaction of the recording', () => {
    expect(recorded.length).toBeGreaterThan(1500)
    const kinds = { witness: 0, coinbase: 0, scriptSig: 0, noAddress: 0 }
    for (const { tx, coins } of recorded) {
      const spends = tx.outputs.flatMap((_, prevVout) =>
        prevVout % 2 === 0 ? [] : [{ prevVout, height: 9, txid: 'cd'.repeat(32), vin: prevVout + 1 }],
      )
      for (const full of [true, false]) {
        const source = { ...CONFIRMED, coins, spends, full, isDilithium: full }
        const expected = naive(tx, source)
        expect(transactionJson(sourceOf(tx, source)).json).toBe(JSON.stringify(expected))
        const { fee_rate, effective_fee_rate, ...properties } = Transaction.properties
        expect(Object.keys(expected)).toEqual(Object.keys(properties))
      }
      if (tx.hasWitness) kinds.witness++
      if (tx.isCoinbase) kinds.coinbase++
      if (tx.inputs.some(({ scriptSig }) => scriptSig.length > 0)) kinds.scriptSig++
      if (tx.outputs.some(({ script }) => addressOf(script, network) === undefined)) kinds.noAddress++
    }
    expect(Math.min(...Object.values(kinds))).toBeGreaterThan(10)
  })

  it('has nulls for an unconfirmed transaction, the fee of the mempool, and unknown coins', () => {
    const found = recorded.find((each) => each.coins.length > 1 && each.tx.hasWitness)
    if (found === undefined) throw new Error('the recording has a transaction of two inputs')
    const { tx, coins } = found
    const some = coins.map((coin, index) => (index === 0 ? undefined : coin))
    const source = { ...CONFIRMED, block: undefined, fee: 1234n, coins: some }
    const { json } = transactionJson(sourceOf(tx, source))
    expect(json).toBe(JSON.stringify(naive(tx, source)))
    expect(JSON.parse(json)).toMatchObject({ block_hash: null, tx_index: null, fee: '1234' })
  })

  it('is final from the height on at which the last output was spent that can be spent', () => {
    const { tx } = recorded.find((each) => !each.tx.isCoinbase && each.tx.outputs.length > 1) ?? {}
    if (tx === undefined) throw new Error('the recording has a transaction of two outputs')
    const spends = tx.outputs.map((_, prevVout) => ({
      prevVout,
      height: 20 - prevVout,
      txid: 'cd'.repeat(32),
      vin: 0,
    }))
    const spentFrom = (some: typeof spends): number =>
      transactionJson(sourceOf(tx, { ...CONFIRMED, spends: some })).spentFrom
    expect(spentFrom(spends)).toBe(20)
    expect(spentFrom(spends.slice(1))).toBe(Number.POSITIVE_INFINITY)
    const coinbase = recorded.find((each) => each.tx.isCoinbase && each.tx.outputs.length === 2)?.tx
    if (coinbase === undefined) throw new Error('the recording has a coinbase with a witness commitment')
    const first = { prevVout: 0, height: 300, txid: 'cd'.repeat(32), vin: 0 }
    expect(transactionJson(sourceOf(coinbase, { ...CONFIRMED, spends: [first] })).spentFrom).toBe(300)
  })

  it('is not written from other bytes', () => {
    const { tx } = recorded.find((each) => each.tx.hasWitness) ?? {}
    if (tx === undefined) throw new Error('the recording has a transaction with a witness')
    const source = sourceOf(tx, CONFIRMED)
    expect(parseTx(tx.body).txid).toBe(tx.txid)
    for (const wrong of [
      { body: tx.body.subarray(0, -1) },
      { body: Buffer.concat([tx.body, Buffer.alloc(1)]) },
      { witness: tx.witness.subarray(0, -1) },
      { witness: Buffer.concat([tx.witness, Buffer.alloc(1)]) },
    ])
      expect(() => transactionJson({ ...source, ...wrong })).toThrow(RangeError)
  })

  describe('with less than all', () => {
    const long = Buffer.alloc(300, 0x6a)
    const input = (index: number) => ({
      prevTxid: 'ee'.repeat(32),
      prevVout: index,
      scriptSig: long,
      sequence: 0,
      witness: [Buffer.alloc(40, index)],
    })
    const outputs = [long, Buffer.alloc(128, 1), long].map((script) => ({ value: 5n, script }))
    const parts = { version: 2, locktime: 0, inputs: [0, 1].map(input), outputs }
    const tx = readTx(new ByteReader(serializeTx(parts, true)))
    const source = sourceOf(tx, { ...CONFIRMED, coins: [{ value: 20n, script: long }, undefined] })
    const written = (more: Partial<TransactionSource>) =>
      JSON.parse(transactionJson({ ...source, ...more }).json) as Transaction

    it('names what did not fit, and has all else', () => {
      const all = written({})
      const { inputs, outputs: shown, ...rest } = written({ witness: undefined, takes: () => false })
      const { inputs: _, outputs: __, ...expected } = all
      expect(rest).toEqual(expected)
      expect(inputs.map(({ omitted }) => omitted)).toEqual([
        ['script_sig', 'witness', 'script_pub_key'],
        ['script_sig', 'witness'],
      ])
      expect(inputs[0]).toMatchObject({ script_sig: null, witness: null, script_pub_key: null, value: '20' })
      expect(shown.map(({ omitted }) => omitted)).toEqual([['script_pub_key'], undefined, ['script_pub_key']])
      expect(shown[1]?.script_pub_key).toBe('01'.repeat(128))
      // Sizes are those of the whole transaction.
      expect(all.size).toBe(tx.size)
    })

    it('has the first scripts that fit', () => {
      let left = 700
      const takes = (bytes: number): boolean => bytes <= left && (left -= bytes) >= 0
      const { inputs, outputs: some } = written({ takes })
      expect(inputs.flatMap(({ omitted = [] }) => omitted)).toEqual(['script_sig'])
      expect(some.map(({ omitted }) => omitted?.length ?? 0)).toEqual([1, 0, 1])
    })

    it('has a range of the inputs and outputs, and the beginning of long scripts, with the figures of all', () => {
      const detail = { inputs: { from: 1, count: 1 }, outputs: { from: 2, count: 9 }, maxBytes: 16 }
      const { inputs, outputs: some, ...rest } = written({ detail })
      expect(inputs).toMatchObject([{ vin: 1, script_sig: '6a'.repeat(16), witness: ['01'.repeat(16)] }])
      expect(some).toMatchObject([{ vout: 2, script_pub_key: '6a'.repeat(16) }])
      expect(rest).toMatchObject({ input_count: 2, output_count: 3, output_value: '15' })
      expect(transactionJson({ ...source, detail }).spentFrom).toBe(Number.POSITIVE_INFINITY)
    })
  })
})
