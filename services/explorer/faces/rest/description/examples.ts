import { readFileSync } from 'node:fs'

/** A request and its answer, by the name of the read or command. */
export type Examples = Readonly<
  Record<string, { readonly args: Readonly<Record<string, unknown>>; readonly answer: unknown }>
>

/** Returns the examples of the documentation, which a test compares with real answers. */
export function readExamples(): Examples {
  return JSON.parse(readFileSync(new URL('examples.json', import.meta.url), 'utf8')) as Examples
}
