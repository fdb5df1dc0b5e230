import { type Network, NETWORKS } from '../../../../pipelines/chain/networks.js'
import { decodeAddress } from '../../../../pipelines/chain/address.js'
import { searchText } from '../../core/reads/chain/search-text.js'
import type { Format } from './format.js'
import type { Messages } from './messages/en.js'

/** The length of the longest address, and of a hash. */
const LONGEST = 90
const HASH = 64
/** The shortest base58 address with a checksum. */
const SHORTEST_ADDRESS = 25

/** The values that a query is compared with. */
export interface Known {
  readonly t: Messages
  readonly f: Format
  /** The height of the newest block. */
  readonly height: number
  readonly network: Network | undefined
}

/** Returns a sentence that explains why a query finds nothing. */
export function explain(query: string, { t, f, height, network }: Known): string {
  const s = t.search
  const text = searchText(query)
  if (/^-\d+$/.test(text)) return s.negative
  if (/^\d{1,10}$/.test(text))
    return Number(text) > height ? s.future(f.number(text), f.number(height)) : s.hashUnknown
  if (text.length > LONGEST) return s.tooLong
  if (/^[0-9a-f]+$/i.test(text) && text.length > 20)
    return text.length === HASH ? s.hashUnknown : s.hashLength(f.number(text.length))
  if (text.length === HASH && /^\w+$/.test(text) && !isPrefixed(text, network)) {
    const sign = /[^0-9a-f]/i.exec(text)?.[0]
    if (sign !== undefined) return s.notHex(sign)
  }
  return explainAddress(text, { t, network }) ?? s.unknown(query.trim())
}

/** Returns what is wrong with a text that looks like an address; undefined if it does not. */
function explainAddress(text: string, { t, network }: Pick<Known, 't' | 'network'>): string | undefined {
  if (network === undefined || !/^[0-9a-z]+$/i.test(text)) return undefined
  if (decodeAddress(text, network) !== undefined) return t.search.addressUnknown
  for (const other of NETWORKS.values())
    if (other !== network && decodeAddress(text, other) !== undefined)
      return t.search.otherChain(prefixesOf(network).join(', '))
  if (isPrefixed(text, network)) return t.search.checksum
  const isBase58 = text.length >= SHORTEST_ADDRESS && text.length <= 36 && !/[0OIl]/.test(text)
  return isBase58 ? t.search.checksum : undefined
}

const prefixesOf = ({ hrp, dilithium }: Network): string[] =>
  [hrp, dilithium?.hrp].filter((each) => each !== undefined).map((each) => `${each}1`)

const isPrefixed = (text: string, network: Network | undefined): boolean =>
  network !== undefined && prefixesOf(network).some((prefix) => text.toLowerCase().startsWith(prefix))
