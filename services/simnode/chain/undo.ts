import { ByteReader, ByteWriter } from '../../../pipelines/chain/bytes.js'
import type { Coin } from './coin-set.js'

/** The output that an input spent, as getblock returns it. */
export interface Spent {
  readonly value: bigint
  readonly script: Buffer
  readonly height: number
  readonly coinbase: boolean
}

/** Serialises the coins that the inputs of a block spent, in the order of the inputs. */
export function encodeUndo(spent: readonly Coin[]): Buffer {
  const writer = new ByteWriter()
  for (const coin of spent) writeCoin(writer, coin)
  return writer.finish()
}

export function decodeUndo(bytes: Buffer): Spent[] {
  const reader = new ByteReader(bytes)
  const spent: Spent[] = []
  while (reader.remaining > 0) spent.push(readCoin(reader))
  return spent
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
