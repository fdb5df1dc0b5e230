import { openContent } from '../../pipelines/content/store.js'
import type { Config } from '../config.js'
import { createLogger } from '../process/logger.js'

/** A line of the report. */
interface Line {
  readonly file: string
  readonly line: number
  readonly message: string
}

/**
 * Prints what readers of the documentation in `CONTENT_DIR` do not get, one `file:line: message` per line, and the counts.
 * @returns the exit status: 1 if a file cannot be served, a link leads nowhere or a file cannot be included, otherwise 0.
 */
export async function checkContent(config: Config, print: (line: string) => void): Promise<number> {
  // The report contains what the store would log.
  const { contentDir, contentLanguages: languages } = config
  const content = await openContent(contentDir, { logger: createLogger('docs', 'silent'), languages })
  content.close()
  const errors = content.errors()
  const findings = content.findings()
  const of = (kind: string): readonly Line[] => findings.filter((finding) => finding.kind === kind)
  const lines: Line[] = [
    ...errors,
    ...findings,
    ...content.partials().map((file) => ({ file, line: 1, message: 'a partial: it is no page' })),
  ]
  lines.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
  for (const { file, line, message } of lines) print(`${file}:${String(line)}: ${message}`)
  const [links, includes, expressions] = [of('link'), of('include'), of('expression')].map(
    ({ length }) => length,
  )
  print(
    `${String(content.pages().length)} pages: ${String(errors.length)} files with errors, ${String(links)} broken links, ` +
      `${String(includes)} broken includes, ${String(expressions)} expressions left out, ${String(content.partials().length)} partials`,
  )
  return errors.length + (links ?? 0) + (includes ?? 0) > 0 ? 1 : 0
}
