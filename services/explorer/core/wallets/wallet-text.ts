/** Extended private keys and private keys in WIF, also such as are mistyped. */
const PRIVATE_KEY =
  /[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{20}|(?<![\da-zA-Z])[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}(?![\da-zA-Z])/
/** Words of a seed (BIP 39): 12 or more. */
const SEED = /^\s*(?:[a-z]{3,8}\s+){11,}[a-z]{3,8}\s*$/i

/** Extended keys from their first character after the prefix on. */
const EXTENDED_KEY = /(?<![a-zA-Z\d])[xyztuvXYZTUV](?:pub|prv)[1-9A-HJ-NP-Za-km-z]/
const DESCRIPTOR = /(?<![a-z])(?:(?:w?pk|w?s)h|pk|(?:raw)?tr|combo|(?:sorted)?multi(?:_a)?)\(/i
/** The beginning of a private key in WIF: a word that is longer than an address in base58. */
const LONG_WORD = /(?<![\w/=])[5KL9c][1-9A-HJ-NP-Za-km-z]{36,}(?!\w)/g
/** The first words of a seed. */
const SOME_WORDS = /^\s*(?:[a-z]{3,8}\s+){5,}[a-z]{3,8}\s*$/

/** Returns whether a text contains a private key or the words of a seed. */
export const isSecret = (text: string): boolean => PRIVATE_KEY.test(text) || SEED.test(text)

/**
 * Returns whether a text may contain something of a wallet that belongs into no URL: an extended key, a descriptor with keys, a private
 * key or the words of a seed, also while it is being typed. No hash, address or single public key is one.
 */
export const isWalletText = (text: string): boolean =>
  isSecret(text) ||
  EXTENDED_KEY.test(text) ||
  DESCRIPTOR.test(text) ||
  SOME_WORDS.test(text) ||
  (text.match(LONG_WORD) ?? []).some((word) => /[A-Z]/.test(word) && /[g-z]/.test(word))
