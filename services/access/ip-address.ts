import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The IPv6 addresses that are routed on the Internet; ranges outside of it have special meanings, or none yet. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns an IP address in its usual form, and whether it is an address of the public Internet: not one of a private network, this
 * machine, a link, a group, a translation to IPv4, or documentation. Undefined for a malformed address. An IPv4-mapped IPv6 address
 * is returned as its IPv4 address.
 */
export function classifyIp(
  text: string,
): { readonly address: string; readonly isPublic: boolean } | undefined {
  // A zone (fe80::1%eth0) is of this machine.
  if (isIP(text) === 0 || text.includes('%')) return undefined
  const ip = ipaddr.process(text)
  const isRouted = ip instanceof ipaddr.IPv4 || ip.match(GLOBAL_IPV6)
  return { address: ip.toString(), isPublic: isRouted && ip.range() === 'unicast' }
}

/** Parses an IP address into its 4 or 16 bytes; returns an empty array if it is malformed. */
export function addressBytes(text: string): Uint8Array {
  return isIP(text) === 0 ? new Uint8Array() : Uint8Array.from(ipaddr.parse(text).toByteArray())
}

/** Returns the IPv4 address of the bytes of an IPv4-mapped IPv6 address, undefined for other addresses. */
export function mappedIpv4(bytes: Uint8Array): string | undefined {
  const address = new ipaddr.IPv6([...bytes])
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : undefined
}
