import { hostInUrl } from '../../process/ports.js'
import type { Incoming } from './incoming.js'

/** A host name or address with an optional port, as in a Host header. No other value is inserted into a page. */
const HOST = /^(?:[a-z\d](?:[a-z\d.-]{0,252}[a-z\d])?|\[[a-f\d:.]{2,45}\])(?::\d{1,5})?$/i

const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export interface SiteOptions {
  /** Value of SITE_URL. */
  readonly siteUrl?: string | undefined
  readonly sourceUrl?: string | undefined
  readonly trustedHops: number
  /** Value of EXPLORER_URL. */
  readonly explorerUrl?: string | undefined
  /** The port of an explorer on this machine; 0 if there is none. */
  readonly explorerPort?: number | undefined
  /** Value of SITE_NAME. */
  readonly name?: string | undefined
}

/** The public address of the documentation. */
export class Site {
  readonly #options: SiteOptions
  readonly sourceUrl: string | undefined
  readonly name: string | undefined

  constructor(options: SiteOptions) {
    this.#options = options
    this.name = options.name
    this.sourceUrl = options.sourceUrl?.replace(/\/+$/, '')
  }

  /** Returns scheme and host (and the path of SITE_URL, if it has one) without a trailing slash. */
  urlFor({ header, req }: Incoming): string {
    const { siteUrl, trustedHops } = this.#options
    if (siteUrl !== undefined) return siteUrl.replace(/\/+$/, '')
    const isSecure = trustedHops > 0 && /^https\b/i.test(header('x-forwarded-proto'))
    const host = header('host')
    const { localAddress = '127.0.0.1', localPort = 80 } = req.socket
    const own = `${hostInUrl(localAddress)}:${String(localPort)}`
    return `${isSecure ? 'https' : 'http'}://${HOST.test(host) ? host.toLowerCase() : own}`
  }

  /** Returns the address of the explorer; undefined if it is not known. @param base the result of `urlFor`. */
  explorerUrl(base: string): string | undefined {
    const { explorerUrl, explorerPort = 0, siteUrl } = this.#options
    if (explorerUrl !== undefined) return explorerUrl
    if (siteUrl !== undefined || explorerPort === 0) return undefined
    const url = new URL(base)
    url.port = String(explorerPort)
    return url.href
  }

  /**
   * Returns the origins of the documentation's own pages. Without SITE_URL only origins of this machine count, because in an attack
   * by DNS rebinding both Origin and Host name the attacker.
   */
  ownOrigins(incoming: Incoming): readonly string[] {
    const { siteUrl } = this.#options
    if (siteUrl !== undefined) return [new URL(siteUrl).origin]
    const own = new URL(this.urlFor(incoming))
    return LOCAL.test(own.hostname) ? [own.origin] : []
  }
}
