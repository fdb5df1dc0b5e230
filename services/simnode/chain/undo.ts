import { ByteReader, ByteWriter } from '../../../pipelines/chain/bytes.js'
import type { Coin } from './coin-set.js'

/** The output that an input spent, as getblock returns it. */
export interface Spent {
  readonly value: bigint
  readonly script: Buffer
  readonly height: number
  readonly coinbase: boolean
}

/** An unspent output of a coinbase that the same coinbase in a later block replaced. */
export interface Overwritten extends Spent {
  readonly vout: number
}

/** Serialises the coins that the inputs of a block spent, in the order of the inputs, and those that its coinbase replaced. */
export function encodeUndo(spent: readonly Coin[], overwritten: readonly Coin[]): Buffer {
  const writer = new ByteWriter()
  for (const coin of spent) writeCoin(writer, coin)
  for (const coin of overwritten) writeCoin(writer.compactSize(coin.vout), coin)
  return writer.finish()
}

/** Reads what encodeUndo has written. @param inputs the number of inputs of the block, without the coinbase's. */
export function decodeUndo(bytes: Buffer, inputs: number): { spent: Spent[]; overwritten: Overwritten[] } {
  const reader = new ByteReader(bytes)
  const spent = Array.from({ length: inputs }, () => readCoin(reader))
  const overwritten: Overwritten[] = []
  while (reader.remaining > 0) {
    const vout = reader.compactSize()
    overwritten.push({ ...readCoin(reader), vout })
  }
  return { spent, overwritten }
}

/** Writes height × 2 + coinbase (as compactSize), value and script. */
export function writeCoin(writer: ByteWriter, { height = 0, coinbase, value, script }: Coin): void {
  writer
    .compactSize(height * 2 + Number(coinbase))
    .u64(value)
    .sized(script)
}

export function readCoin(reader: ByteReader): Spent {
  const code = reader.compactSize()
  const value = reader.u64()
  const script = reader.bytes(reader.compactSize())
  return { value, script, height: Math.floor(code / 2), coinbase: code % 2 === 1 }
}
