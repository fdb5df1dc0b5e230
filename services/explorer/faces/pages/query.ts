import { decodeAddress, encodeBase58check } from '../../../../pipelines/chain/address.js'
import { keyScript } from '../../../../pipelines/chain/keys/public-key.js'
import { type Network, NETWORKS, titleOf } from '../../../../pipelines/chain/networks.js'
import { searchText, timeIn } from '../../core/reads/chain/search-text.js'
import { isWalletText } from '../../core/wallets/wallet-text.js'
import { foreignCoins } from './foreign.js'
import type { Format } from './format.js'
import type { Messages } from './messages/en/index.js'

/** The length of the longest address, and of a hash. */
const LONGEST = 90
const HASH = 64
/** The shortest base58 address with a checksum. */
const SHORTEST_ADDRESS = 25
/** The shortest beginning of a base58 address that is recognised, and the usual length of all of it. */
const SHORTEST_BEGINNING = 12
const BASE58_LENGTH = 34
/** The characters of an address after its prefix, for witness programs of 20 and 32 bytes: version, program and checksum. */
const PROGRAM_LENGTHS = [39, 59] as const

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
  if (isWalletText(query)) return s.wallet
  if (/^-\d+$/.test(text)) return s.negative
  const time = timeIn(text)
  if (time !== undefined) return s.later(f.utc(time))
  if (/^\d{1,10}$/.test(text))
    return Number(text) > height ? s.future(f.number(text), f.number(height)) : s.hashUnknown
  if (/^[0-9a-f]+$/i.test(text) && text.length > 20) return explainHex(text, { t, f, network })
  if (text.length > LONGEST) return s.tooLong
  if (text.length === HASH && /^\w+$/.test(text) && !isPrefixed(text, network)) {
    const sign = /[^0-9a-f]/i.exec(text)?.[0]
    if (sign !== undefined) return s.notHex(sign)
  }
  return explainAddress(text, { t, network }) ?? s.unknown(query.trim())
}

/** Returns what hexadecimal digits are that name nothing known. */
function explainHex(text: string, { t, f, network }: Pick<Known, 't' | 'f' | 'network'>): string {
  const s = t.search
  if (text.length === HASH) return s.hashUnknown
  if (network !== undefined && keyScript(Buffer.from(text, 'hex'), network) !== undefined) return s.keyUnknown
  return text.length < HASH || text.length % 2 === 1 ? s.hashLength(f.number(text.length)) : s.scriptUnknown
}

/** Returns what is wrong with a text that looks like an address; undefined if it does not. */
function explainAddress(text: string, { t, network }: Pick<Known, 't' | 'network'>): string | undefined {
  if (network === undefined || !/^[0-9a-z]+$/i.test(text)) return undefined
  if (decodeAddress(text, network) !== undefined) return t.search.addressUnknown
  const networks = [...NETWORKS.values()].filter((other) => decodeAddress(text, other) !== undefined)
  const others = networks.length > 0 ? networks.map(titleOf) : foreignCoins(text)
  if (others?.length === 0) return t.search.unknownChain(titleOf(network), beginningsOf(network))
  if (others !== undefined) return t.search.otherChain(others, titleOf(network), beginningsOf(network))
  const prefix = prefixesOf(network).find((each) => text.toLowerCase().startsWith(each))
  if (prefix !== undefined)
    return isIncomplete(text.length - prefix.length) ? t.search.incomplete : t.search.checksum
  if (text.length < SHORTEST_BEGINNING || text.length > 36 || /[0OIl]/.test(text)) return undefined
  if (text.length < BASE58_LENGTH - 1 && isBeginning(text, network)) return t.search.incomplete
  return text.length >= SHORTEST_ADDRESS ? t.search.checksum : undefined
}

/** Returns whether an address of a witness program lacks characters. @param length characters after the prefix. */
const isIncomplete = (length: number): boolean =>
  length < PROGRAM_LENGTHS[0] || (length > PROGRAM_LENGTHS[0] && length < PROGRAM_LENGTHS[1])

/** Returns whether a text in base58 begins like an address of the chain. A word of a language has no digits. */
const isBeginning = (text: string, network: Network): boolean =>
  /\d/.test(text) && beginningsOf(network).some((each) => each.length === 1 && text.startsWith(each))

const prefixesOf = ({ hrp, dilithium }: Network): string[] =>
  [hrp, dilithium?.hrp].filter((each) => each !== undefined).map((each) => `${each}1`)

/** Returns the characters with which the addresses of a chain begin. */
function beginningsOf(network: Network): string[] {
  const { p2pkh, p2sh, dilithium } = network
  const versions = [p2pkh, p2sh, dilithium?.p2pkh, dilithium?.p2sh].filter((each) => each !== undefined)
  const base58 = versions.flatMap((version) =>
    [0x00, 0xff].map((byte) => encodeBase58check(version, Buffer.alloc(20, byte)).charAt(0)),
  )
  return [...new Set([...prefixesOf(network), ...base58])]
}

const isPrefixed = (text: string, network: Network | undefined): boolean =>
  network !== undefined && prefixesOf(network).some((prefix) => text.toLowerCase().startsWith(prefix))
