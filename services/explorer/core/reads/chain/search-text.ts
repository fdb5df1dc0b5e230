import { DAY_SECONDS, dayOfDate } from '../../../../../pipelines/chain/time.js'

/** An output; an input as mempool.space writes it. */
const OUTPOINT = /^(?:([0-9a-f]{64}):\d+|\d+:([0-9a-f]{64}))$/i
/**
 * The object that a URL of an explorer names: of a page or of the API, at any host, below any path. Other explorers have other words:
 * mempool.space, blockstream.info and blockcypher.com (`tx`), blockchair.com (`transaction`), blockchain.com (`transactions/btc`).
 */
const IN_PATH =
  /^.*(?<!\/mempool)\/(?:tx|transaction|block|block-height|address|scripthash|op-return|label|pool|(?:transactions|blocks|addresses)\/[a-z]+)\/([^/?#]+)/i
const IN_QUERY = /[?&]q=([^&#]+)/
/** A payment URI of any coin: BIP 21. */
const URI = /^[a-z][a-z\d+.-]*:(?:\/\/)?([^/?#]+)/i
/** A number with separated groups of digits, as it is written in any of the languages of the pages. */
const GROUPED = /^[1-9]\d{0,2}([.,'’_\s])(?:\d{2,3}\1)*\d{3}$/
/** A hash or an address in bech32 in upper case, as QR codes have them. In base58 upper and lower case are different digits. */
const QR_CODE = /^(?:[\dA-F]+|[A-Z]{2,4}1[02-9AC-HJ-NP-Z]+)$/
const AROUND = /^["'“”„‘’«»`([\s]+|["'“”„‘’«»`,;.…)\]\s]+$/g
/** A descriptor without a key, as the node has it in its answers. */
const KEYLESS = /^(?:addr|raw)\(([^()]+)(?:\)#\w{8})?$/
/** The words in front of a height or hash, on pages too. */
const NAMED =
  /^(?:#|(?:block|tx|txid|transaction|address|hash|height|transaktion|adresse|höhe)[\s:#]\s*)(?=\S*\d)/i

/** A time in seconds or milliseconds since 1970. A chain has no height of so many digits. */
const UNIX = /^([1-9]\d{9})(?:\d{3})?$/
const DATE =
  /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:(?:T|,?\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:Z|UTC|GMT|([+-])(\d{2}):?(\d{2}))?)?$/i
/** A date in German. */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})/

/**
 * Returns the time that a text is, in Unix seconds: a date or a date with a time of day, in UTC unless the text has an offset, or Unix
 * seconds or milliseconds. A date is its first second. Returns undefined for other texts, and for days that no calendar has.
 * @param text of `searchText`.
 */
export function timeIn(text: string): number | undefined {
  const unix = UNIX.exec(text)?.[1]
  if (unix !== undefined) return Number(unix)
  const match = DATE.exec(text.replace(DAY_FIRST, '$3-$2-$1'))
  if (match === null) return undefined
  const [, year = '', month = '', date = '', ...clock] = match
  const day = dayOfDate(`${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`)
  const [hours = 0, minutes = 0, seconds = 0, , offsetHours = 0, offsetMinutes = 0] = clock.map(
    (each) => Number(each) || 0,
  )
  if (day === undefined || hours > 23 || minutes > 59 || seconds > 59) return undefined
  const offset = (offsetHours * 60 + offsetMinutes) * (clock[3] === '-' ? -60 : 60)
  return day * DAY_SECONDS + hours * 3600 + minutes * 60 + seconds - offset
}

/**
 * Returns the height, hash, address or time that a text is about, without what people copy along with it: quotes, the number of an
 * output, the URL of a page or of an answer, the parameters of a payment URI, separators of digits. A hash or a bech32 address in upper case
 * becomes lower case. Any other text is returned without the spaces around it.
 */
export function searchText(input: string): string {
  const text = input.replace(AROUND, '')
  const inside = insideOf(text)
  if (inside !== undefined) return searchText(inside)
  if (GROUPED.test(text)) return text.replace(/\D/g, '')
  return QR_CODE.test(text) ? text.toLowerCase() : text
}

function insideOf(text: string): string | undefined {
  const outpoint = OUTPOINT.exec(text)
  if (outpoint !== null) return outpoint[1] ?? outpoint[2]
  const keyless = KEYLESS.exec(text)
  if (keyless !== null) return keyless[1]
  const unnamed = text.replace(NAMED, '')
  if (unnamed !== text) return unnamed
  if (text.includes('/')) {
    const part = IN_PATH.exec(text)?.[1] ?? IN_QUERY.exec(text)?.[1]?.replaceAll('+', ' ')
    if (part !== undefined) return decoded(part)
  }
  return /^https?:/i.test(text) ? undefined : URI.exec(text)?.[1]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
