import type { CachedAnswer } from '../core/answering/cached-answer.js'

/** The HTTP headers of answers in an encoding: the `media` of the encoding. */
export interface Media {
  /** The header `content-type`. */
  readonly type: string
  /** The header `content-security-policy`. Not set: the policy of data, which allows nothing. */
  readonly policy?: string
  /** True if no content coding makes it smaller. */
  readonly isCompressed?: boolean
  /** The path below which the face serves its reads, for metrics. Not set: the root. */
  readonly prefix?: string
  /**
   * Returns whether an answer is for readers with this header `accept-language` who do not prefer JSON. Not set: these headers do not
   * matter.
   */
  readonly isFor?: (acceptLanguage: string) => boolean
}

/** Returns the media of an answer; undefined for JSON. */
export const mediaOf = ({ media }: CachedAnswer): Media | undefined => media as Media | undefined
