/** Returns whether an If-None-Match header contains the tag; `*` and weak tags match as RFC 9110 defines. */
export function matchesTag(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tag === etag
  })
}
