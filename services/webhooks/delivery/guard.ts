import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIPv4, type LookupFunction } from 'node:net'
import { coded } from '../../../pipelines/errors.js'
import { classifyIp } from '../../access/ip-address.js'

/** Thrown for a receiver that the operator has not allowed. */
export class ReceiverRefused extends coded('HW_RECEIVER_REFUSED') {}

/** Resolves all addresses of a name, like `dns.lookup` with `all`. */
export type Resolve = (
  name: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Decides which addresses deliveries may reach: those of the public Internet over TLS, and those of networks that the operator allows.
 * A URL must not lead to services that trust this network, such as the metadata of a cloud machine.
 */
export class Guard {
  readonly #allowed = new BlockList()

  /** @param networks in CIDR notation. @param resolve for tests. */
  constructor(
    networks: readonly string[],
    private readonly resolve: Resolve = lookup,
  ) {
    for (const network of networks) {
      const [address = '', bits = ''] = network.split('/')
      this.#allowed.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
    }
  }

  /**
   * Checks an address. @param isEncrypted whether TLS proves who the receiver is: without it, only allowed networks are reached.
   * @throws ReceiverRefused.
   */
  assertAllowed(text: string, isEncrypted: boolean): void {
    const ip = classifyIp(text)
    if (ip === undefined) throw new ReceiverRefused(`${text} is not an address`)
    const { address, isPublic } = ip
    if (this.#allowed.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')) return
    if (!isPublic)
      throw new ReceiverRefused(`${address} is not a public address and not in WEBHOOKS_ALLOWED_NETWORKS`)
    if (!isEncrypted)
      throw new ReceiverRefused(`${address} is reached without TLS and is not in WEBHOOKS_ALLOWED_NETWORKS`)
  }

  /**
   * Returns a function that resolves a name for a connection, which is then made to an address that was checked: a second resolution
   * could return another one. A name that has any address that is not allowed is refused.
   */
  lookup(isEncrypted: boolean): LookupFunction {
    return (name, options, done) => {
      this.resolve(name, { ...options, all: true }, (error, addresses) => {
        if (error !== null) {
          done(error, [])
          return
        }
        try {
          for (const { address } of addresses) this.assertAllowed(address, isEncrypted)
        } catch (refusal) {
          done(refusal as Error, [])
          return
        }
        const [first] = addresses
        if (first === undefined) done(new Error(`${name} has no address`), [])
        else if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      })
    }
  }
}
