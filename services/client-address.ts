import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { hexOf } from '../pipelines/chain/hash.js'

/** Where a request came from, as its transport saw it. */
export interface Origin {
  /** The address of whoever holds the connection: 4 or 16 bytes. */
  readonly peer: Uint8Array
  /** All X-Forwarded-For headers, joined by commas in their order; empty for none. */
  readonly forwardedFor: string
}

/** Bytes of an IPv6 address that one client has to itself. */
const NETWORK_BYTES = 8

/**
 * The client that a request is counted for: an IPv4 address, or the /64 of an IPv6 address. IPv4-mapped IPv6 is its IPv4.
 * @param trustedHops proxies of our own in front of us, 0 for none: the last of them is our peer, and each has added the
 * address that it saw at the right of X-Forwarded-For. What stands further left is what a client says of itself.
 */
export function clientOf({ peer, forwardedFor }: Origin, trustedHops: number): string {
  const forwarded = trustedHops === 0 ? undefined : forwardedAddress(forwardedFor, trustedHops)
  return keyOf(forwarded ?? peer)
}

/** Undefined where one of our proxies' entries is malformed: then it is not known who wrote what. */
function forwardedAddress(header: string, hops: number): Uint8Array | undefined {
  const ours = header
    .split(',')
    .slice(-hops)
    .map((entry) => entry.trim())
  // Zones (fe80::1%eth0) mean something on the proxy's machine only.
  if (ours.some((entry) => isIP(entry) === 0 || entry.includes('%'))) return undefined
  return addressBytes(ours[0] ?? '')
}

/** An address in text: 4 or 16 bytes; none where it is malformed. */
export function addressBytes(text: string): Uint8Array {
  return isIP(text) === 0 ? new Uint8Array() : Uint8Array.from(ipaddr.parse(text).toByteArray())
}

function keyOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return 'unknown'
  const address = new ipaddr.IPv6([...bytes])
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  return hexOf(bytes.subarray(0, NETWORK_BYTES))
}
