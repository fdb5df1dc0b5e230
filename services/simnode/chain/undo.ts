import { ByteReader, ByteWriter } from '../../../pipelines/chain/bytes.js'
import type { Coin } from './coin-set.js'

/** What an input spent, as getblock tells it. */
export interface Spent {
  readonly value: bigint
  readonly script: Buffer
  readonly height: number
  readonly coinbase: boolean
}

/** The coins that a block's inputs spent, in the order of the inputs: (height × 2 + coinbase), value, script. */
export function encodeUndo(spent: readonly Coin[]): Buffer {
  const writer = new ByteWriter()
  for (const coin of spent) {
    writer
      .compactSize((coin.height ?? 0) * 2 + (coin.coinbase ? 1 : 0))
      .u64(coin.value)
      .sized(coin.script)
  }
  return writer.finish()
}

export function decodeUndo(bytes: Buffer): Spent[] {
  const reader = new ByteReader(bytes)
  const spent: Spent[] = []
  while (reader.remaining > 0) {
    const code = reader.compactSize()
    const value = reader.u64()
    spent.push({
      value,
      script: reader.bytes(reader.compactSize()),
      height: Math.floor(code / 2),
      coinbase: code % 2 === 1,
    })
  }
  return spent
}
