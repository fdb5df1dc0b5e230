import type { CachedAnswer } from '../core/answering/cached-answer.js'

/** The way in which a browser has to treat an answer that is not data: the `media` of an encoding. */
export interface Media {
  /** The header `content-type`. */
  readonly type: string
  /** The header `content-security-policy`. Not set: the policy of data, which allows nothing. */
  readonly policy?: string
  /** Returns whether an answer is for readers with this header `accept-language`. */
  readonly isFor: (acceptLanguage: string) => boolean
}

/** Returns the media of an answer; undefined for JSON. */
export const mediaOf = ({ media }: CachedAnswer): Media | undefined => media as Media | undefined
