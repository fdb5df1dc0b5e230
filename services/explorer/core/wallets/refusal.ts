import { coded } from '../../../../pipelines/errors.js'
import { isSecret } from './wallet-text.js'

/**
 * Thrown for a descriptor or key that cannot be derived. Its message contains nothing of the text, and those of libraries do: they are
 * never passed on.
 */
export class Underivable extends coded('HW_INVALID_ARGUMENT') {}

export const EXPOSED =
  'the text contains a private key or seed words, which were sent over the network and must be considered exposed: move the coins. ' +
  'An explorer needs public keys only'

/** Checks that a text contains no secret. @throws Underivable. */
export function assertPublic(text: string): void {
  if (isSecret(text)) throw new Underivable(EXPOSED)
}
