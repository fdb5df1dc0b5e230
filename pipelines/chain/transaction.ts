import { ByteReader, ByteWriter } from './bytes.js'
import { internalBytes, reverseHex, sha256d } from './hash.js'
import type { Network } from './networks.js'

export interface TxInput {
  readonly prevTxid: string
  readonly prevVout: number
  readonly scriptSig: Buffer
  readonly sequence: number
  readonly witness: readonly Buffer[]
}

export interface TxOutput {
  readonly value: bigint
  readonly script: Buffer
}

export interface Tx {
  readonly txid: string
  readonly wtxid: string
  /** Unsigned, as Bitcoin Core prints it from version 28 on. */
  readonly version: number
  readonly locktime: number
  readonly inputs: readonly TxInput[]
  readonly outputs: readonly TxOutput[]
  readonly isCoinbase: boolean
  readonly hasWitness: boolean
  readonly size: number
  readonly strippedSize: number
}

/**
 * Returns the tag of a transaction's witnesses: the first four bytes of its wtxid, 0 if it has none. The body and the tag identify
 * one of the witnesses that branches may have.
 */
export function witnessTag({ hasWitness, wtxid }: Pick<Tx, 'hasWitness' | 'wtxid'>): number {
  return hasWitness ? Math.max(1, Number.parseInt(wtxid.slice(0, 8), 16)) : 0
}

export type TxParts = Pick<Tx, 'version' | 'locktime' | 'inputs' | 'outputs'>

const NO_TXID = '00'.repeat(32)

/** Returns the weight of a transaction or block from its sizes without and with witnesses. */
export function weightOf(
  { strippedSize, size }: Pick<Tx, 'strippedSize' | 'size'>,
  { witnessScale }: Network,
): number {
  return (witnessScale - 1) * strippedSize + size
}

export function vsizeOf(weight: number, { witnessScale }: Network): number {
  return Math.ceil(weight / witnessScale)
}

/** The highest sequence of an input by which a transaction signals that it may be replaced (BIP 125). */
const MAX_SIGNALLING_SEQUENCE = 0xffff_fffd

/** Returns whether a transaction itself signals that it may be replaced (BIP 125). */
export function signalsReplacement({ inputs }: Pick<Tx, 'inputs'>): boolean {
  return inputs.some(({ sequence }) => sequence <= MAX_SIGNALLING_SEQUENCE)
}

/** Names the fields instead of spreading them, which is slower, because backfills spend much of their time here. */
function withWitness(input: TxInput, witness: readonly Buffer[]): TxInput {
  const { prevTxid, prevVout, scriptSig, sequence } = input
  return { prevTxid, prevVout, scriptSig, sequence, witness }
}

/** Parses a transaction. @throws RangeError for bytes that are not exactly one transaction. */
export function parseTx(bytes: Uint8Array): SerializedTx {
  const reader = new ByteReader(bytes)
  const tx = readTx(reader)
  if (reader.remaining > 0) throw new RangeError(`${String(reader.remaining)} bytes after the transaction`)
  return tx
}

/** A transaction with its serialisations in the block. */
export interface SerializedTx extends Tx {
  readonly raw: Buffer
  /** The serialisation without witnesses, whose hash is the txid. */
  readonly body: Buffer
  /** The serialised witnesses alone, empty if there are none. */
  readonly witness: Buffer
}

/** Reads one transaction. Its serialisations are views where possible. @throws RangeError for invalid bytes. */
export function readTx(reader: ByteReader): SerializedTx {
  const from = reader.offset
  const version = reader.u32()
  let count = reader.compactSize()
  const segwit = count === 0
  if (segwit) {
    if (reader.u8() !== 1) throw new RangeError('a transaction without inputs')
    count = reader.compactSize()
  }
  const bodyFrom = segwit ? from + 6 : from + 4
  const bare = readInputs(reader, count)
  const outputs = readOutputs(reader)
  const bodyTo = reader.offset
  const inputs = segwit ? bare.map((input) => withWitness(input, readWitness(reader))) : bare
  const hasWitness = segwit && inputs.some((input) => input.witness.length > 0)
  const locktime = reader.u32()
  const raw = reader.since(from)
  const stripped = segwit ? strip(raw, bodyFrom - from, bodyTo - from) : raw
  const witness = hasWitness ? raw.subarray(bodyTo - from, raw.length - 4) : raw.subarray(0, 0)
  const txid = reverseHex(sha256d(stripped))
  const wtxid = hasWitness ? reverseHex(sha256d(raw)) : txid
  const size = hasWitness ? raw.length : stripped.length
  const first = inputs[0]
  const isCoinbase = inputs.length === 1 && first?.prevTxid === NO_TXID && first.prevVout === 0xffff_ffff
  return {
    txid,
    wtxid,
    version,
    locktime,
    inputs,
    outputs,
    isCoinbase,
    hasWitness,
    size,
    strippedSize: stripped.length,
    raw,
    body: stripped,
    witness,
  }
}

function strip(raw: Buffer, bodyFrom: number, bodyTo: number): Buffer {
  return Buffer.concat([raw.subarray(0, 4), raw.subarray(bodyFrom, bodyTo), raw.subarray(raw.length - 4)])
}

function readInputs(reader: ByteReader, count: number): TxInput[] {
  const inputs: TxInput[] = []
  for (let index = 0; index < count; index++) {
    const prevTxid = reverseHex(reader.bytes(32))
    const prevVout = reader.u32()
    const scriptSig = reader.bytes(reader.compactSize())
    inputs.push({ prevTxid, prevVout, scriptSig, sequence: reader.u32(), witness: [] })
  }
  return inputs
}

function readOutputs(reader: ByteReader): TxOutput[] {
  const outputs: TxOutput[] = []
  const count = reader.compactSize()
  for (let index = 0; index < count; index++) {
    const value = reader.u64()
    outputs.push({ value, script: reader.bytes(reader.compactSize()) })
  }
  return outputs
}

function readWitness(reader: ByteReader): Buffer[] {
  const items: Buffer[] = []
  const count = reader.compactSize()
  for (let index = 0; index < count; index++) items.push(reader.bytes(reader.compactSize()))
  return items
}

/** Serialises a transaction. @param withWitness includes the witnesses, if it has any. */
export function serializeTx(tx: TxParts, withWitness: boolean): Buffer {
  const witnessed = withWitness && tx.inputs.some((input) => input.witness.length > 0)
  const writer = new ByteWriter().u32(tx.version)
  if (witnessed) writer.u8(0).u8(1)
  writer.compactSize(tx.inputs.length)
  for (const input of tx.inputs) {
    writer.bytes(internalBytes(input.prevTxid)).u32(input.prevVout).sized(input.scriptSig).u32(input.sequence)
  }
  writer.compactSize(tx.outputs.length)
  for (const output of tx.outputs) writer.u64(output.value).sized(output.script)
  if (witnessed) writer.bytes(serializeWitness(tx))
  return writer.u32(tx.locktime).finish()
}

/** Serialises the witnesses alone: for each input the number of items and the items. */
function serializeWitness(tx: Pick<Tx, 'inputs'>): Buffer {
  const writer = new ByteWriter()
  for (const { witness } of tx.inputs) {
    writer.compactSize(witness.length)
    for (const item of witness) writer.sized(item)
  }
  return writer.finish()
}

/** The marker and the flag of a serialisation with witnesses. */
const SEGWIT = Buffer.from([0, 1])

/** Parses a transaction from its serialisation without witnesses and its witnesses. @throws RangeError for invalid bytes. */
export function parseBody(body: Uint8Array, witness?: Uint8Array): Tx {
  return parseTx(witness === undefined ? body : withWitnesses(body, witness))
}

/** Returns the complete serialisation of a transaction. @param witness the serialised witnesses, empty if there are none. */
export function withWitnesses(body: Uint8Array, witness: Uint8Array): Uint8Array {
  if (witness.length === 0) return body
  const end = body.length - 4
  return Buffer.concat([body.subarray(0, 4), SEGWIT, body.subarray(4, end), witness, body.subarray(end)])
}
