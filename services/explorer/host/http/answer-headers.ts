/**
 * Returns the headers of every answer: pages of any origin may read it and the listed headers, and browsers must not render it as a
 * page. One value with line breaks, because each call of writeHeader costs as much as finding an answer in memory.
 */
export const commonHeaders = (policy: string): string =>
  [
    '*',
    'access-control-expose-headers: x-chain-height, x-chain-tip, etag, retry-after, ratelimit, ratelimit-policy',
    'x-content-type-options: nosniff',
    `content-security-policy: ${policy}`,
    'referrer-policy: no-referrer',
    'cross-origin-resource-policy: cross-origin',
  ].join('\r\n')
/** The headers of answers that are data. */
export const COMMON_HEADERS = commonHeaders("default-src 'none'; frame-ancestors 'none'")
