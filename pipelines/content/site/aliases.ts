import { posix } from 'node:path'
import { resolved } from './names.js'

/** Returns the earlier addresses of a page as paths from the root, without slashes around them. @param file whose folder relative ones start from. */
export const aliasesOf = (file: string, aliases: readonly string[]): readonly string[] =>
  aliases.map((alias) =>
    resolved(alias.startsWith('/') ? alias : posix.join(posix.dirname(file), alias)).join('/'),
  )
