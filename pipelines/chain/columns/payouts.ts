import { hasAddress } from '../address.js'
import { ByteReader, ByteWriter } from '../bytes.js'
import type { Network } from '../networks.js'
import type { TxOutput } from '../transaction.js'

/** The maximum number of payouts of a block that are kept: a coinbase may have many thousands of outputs. */
export const MAX_PAYOUTS = 32

/**
 * Returns the scripts with an address that a coinbase pays, ordered by the value of their output, largest first; scripts of equal
 * outputs keep the order of the outputs. Outputs without value do not count.
 */
export function payoutsOf(outputs: readonly TxOutput[], network: Network): Buffer[] {
  return outputs
    .filter(({ value, script }) => value > 0n && hasAddress(script, network))
    .sort((one, other) => (one.value === other.value ? 0 : one.value > other.value ? -1 : 1))
    .slice(0, MAX_PAYOUTS)
    .map(({ script }) => script)
}

/** Encodes `blocks.payouts`. */
export function encodePayouts(scripts: readonly Uint8Array[]): Buffer {
  const writer = new ByteWriter(32)
  for (const script of scripts) writer.sized(script)
  return writer.finish()
}

/** Decodes `blocks.payouts`. @throws RangeError for invalid bytes. */
export function decodePayouts(bytes: Uint8Array): Buffer[] {
  const reader = new ByteReader(bytes)
  const scripts = []
  while (reader.remaining > 0) scripts.push(reader.bytes(reader.compactSize()))
  return scripts
}
