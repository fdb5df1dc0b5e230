import type { ReadRequest } from '../core/answering/reader.js'

/** Decodes a segment of a path. A malformed one stays as it is, so that the validation of the argument rejects it. */
export function decodeSegment(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the function that reads an argument from the parameters of the path, or from the query. */
export function argumentsOfUrl(
  params: Readonly<Record<string, string>>,
  query: string,
): ReadRequest['argument'] {
  const queryParams = query === '' ? undefined : new URLSearchParams(query)
  return (name) => {
    const inPath = params[name]
    return inPath === undefined ? (queryParams?.get(name) ?? undefined) : decodeSegment(inPath)
  }
}
