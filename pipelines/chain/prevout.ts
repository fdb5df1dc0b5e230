import { ByteReader, ByteWriter } from './bytes.js'
import type { Tx } from './transaction.js'

/** The output that an input spends. */
export interface Prevout {
  /** Base units. */
  readonly value: bigint
  readonly script: Buffer
  /** Height of the block that created it. */
  readonly height: number
}

/** Returns the outpoint of an output: txid:vout. */
export function outpointOf(txid: string, vout: number): string {
  return `${txid}:${String(vout)}`
}

/** Returns the outpoints that a transaction spends; none for a coinbase. */
export function outpointsOf({ isCoinbase, inputs }: Pick<Tx, 'isCoinbase' | 'inputs'>): string[] {
  return isCoinbase ? [] : inputs.map(({ prevTxid, prevVout }) => outpointOf(prevTxid, prevVout))
}

/** Encodes `txs.prevouts`: value and script per input. The height is omitted, because it may differ between branches. */
export function encodePrevouts(prevouts: readonly Pick<Prevout, 'value' | 'script'>[]): Buffer {
  const writer = new ByteWriter(prevouts.length * 40 + 16)
  for (const { value, script } of prevouts) writer.u64(value).sized(script)
  return writer.finish()
}

/** Decodes `txs.prevouts`. @throws RangeError for invalid bytes. */
export function decodePrevouts(bytes: Uint8Array): { readonly value: bigint; readonly script: Buffer }[] {
  const reader = new ByteReader(bytes)
  const prevouts = []
  while (reader.remaining > 0) {
    const value = reader.u64()
    prevouts.push({ value, script: reader.bytes(reader.compactSize()) })
  }
  return prevouts
}
