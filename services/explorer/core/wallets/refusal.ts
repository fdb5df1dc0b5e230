import { coded } from '../../../../pipelines/errors.js'

/**
 * Thrown for a descriptor or key that cannot be derived. Its message contains nothing of the text, and those of libraries do: they are
 * never passed on.
 */
export class Underivable extends coded('HW_INVALID_ARGUMENT') {}

export const EXPOSED =
  'the text contains a private key or seed words, which were sent over the network and must be considered exposed: move the coins. ' +
  'An explorer needs public keys only'

/** Extended private keys and private keys in WIF, also such as are mistyped. */
const PRIVATE_KEY =
  /[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{20}|(?<![\da-zA-Z])[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}(?![\da-zA-Z])/
/** Words of a seed (BIP 39): 12 or more. */
const SEED = /^\s*(?:[a-z]{3,8}\s+){11,}[a-z]{3,8}\s*$/i

/** Checks that a text contains no secret. @throws Underivable. */
export function assertPublic(text: string): void {
  if (PRIVATE_KEY.test(text) || SEED.test(text)) throw new Underivable(EXPOSED)
}
