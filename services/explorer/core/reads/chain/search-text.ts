const OUTPOINT = /^([0-9a-f]{64}):\d+$/i
/** The object that a URL of an explorer names: of a page or of the API, at any host, below any path. */
const IN_PATH = /^.*\/(?:tx|block|address|op-return|label)\/([^/?#]+)/i
const IN_QUERY = /[?&]q=([^&#]+)/
/** A payment URI of any coin: BIP 21. */
const URI = /^[a-z][a-z\d+.-]*:(?:\/\/)?([^/?#]+)/i
/** A number with separated groups of digits, as it is written in any of the languages of the pages. */
const GROUPED = /^[1-9]\d{0,2}([.,'’_\s])(?:\d{2,3}\1)*\d{3}$/
/** A hash or an address in bech32 in upper case, as QR codes have them. In base58 upper and lower case are different digits. */
const QR_CODE = /^(?:[\dA-F]+|[A-Z]{2,4}1[02-9AC-HJ-NP-Z]+)$/
const AROUND = /^["'“”„‘’«»`\s]+|["'“”„‘’«»`,;\s]+$/g

/**
 * Returns the height, hash or address that a text is about, without what people copy along with it: quotes, the number of an output,
 * the URL of a page or of an answer, the parameters of a payment URI, separators of digits. A hash or a bech32 address in upper case
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
  if (outpoint !== null) return outpoint[1]
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
