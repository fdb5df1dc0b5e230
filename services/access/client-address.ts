import { isIP } from 'node:net'
import { hexOf } from '../../pipelines/chain/hash.js'
import { addressBytes, mappedIpv4 } from './ip-address.js'

/** The origin of a request, as the transport sees it. */
export interface Origin {
  /** The address of the connection's remote end: 4 or 16 bytes. */
  readonly peer: Uint8Array
  /** All X-Forwarded-For headers, joined by commas in their order; empty if there are none. */
  readonly forwardedFor: string
}

/** The length of the IPv6 prefix that belongs to one client (a /64), in bytes. */
const NETWORK_BYTES = 8

/**
 * Returns the client that a request is counted for: an IPv4 address, or the /64 of an IPv6 address. An IPv4-mapped IPv6 address
 * counts as its IPv4 address.
 * @param trustedHops the number of trusted proxies in front of the service. The last one is the peer, and each has appended the
 * address of its own peer to X-Forwarded-For. Entries further to the left come from the client and are ignored.
 */
export function clientOf({ peer, forwardedFor }: Origin, trustedHops: number): string {
  const forwarded = trustedHops === 0 ? undefined : forwardedAddress(forwardedFor, trustedHops)
  return keyOf(forwarded ?? peer)
}

/** Returns the client's address, or undefined if the entry of a trusted proxy is malformed: no entry can be attributed then. */
function forwardedAddress(header: string, hops: number): Uint8Array | undefined {
  const ours = header
    .split(',')
    .slice(-hops)
    .map((entry) => entry.trim())
  // Zones (fe80::1%eth0) are valid only on the proxy's machine.
  if (ours.some((entry) => isIP(entry) === 0 || entry.includes('%'))) return undefined
  return addressBytes(ours[0] ?? '')
}

function keyOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return 'unknown'
  return mappedIpv4(bytes) ?? hexOf(bytes.subarray(0, NETWORK_BYTES))
}
