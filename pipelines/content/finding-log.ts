import type { Logger } from '../logger.js'
import type { Finding } from './page.js'

/** The maximum number of findings of a file that are logged. `npm run docs:check` lists all. */
const MAX_LOGGED = 10

/** Logs what readers of the pages do not get: each file when its findings change, and each component once. */
export class FindingLog {
  readonly #logger: Logger
  readonly #components = new Set<string>()
  #byFile = new Map<string, string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Logs what is new. @param findings of all files. */
  report(findings: readonly Finding[]): void {
    const files = groupedByFile(findings)
    const byFile = new Map<string, string>()
    for (const [file, all] of files) {
      const lines = all.map(({ line, message }) => `${String(line)}: ${message}`)
      byFile.set(file, lines.join('\n'))
      if (this.#byFile.get(file) === lines.join('\n')) continue
      const fields = { file, count: lines.length, findings: lines.slice(0, MAX_LOGGED) }
      this.#logger.warn(fields, 'links or includes lead nowhere; npm run docs:check lists all')
    }
    this.#byFile = byFile
    for (const { component, file, line, kind } of findings) {
      if (kind !== 'expression' || component === undefined || this.#components.has(component)) continue
      this.#components.add(component)
      this.#logger.warn(
        { component, file, line },
        'an expression of this component is left out: MDX is not run',
      )
    }
  }
}

function groupedByFile(findings: readonly Finding[]): Map<string, Finding[]> {
  const files = new Map<string, Finding[]>()
  for (const finding of findings) {
    if (finding.kind === 'expression') continue
    const of = files.get(finding.file)
    if (of === undefined) files.set(finding.file, [finding])
    else of.push(finding)
  }
  return files
}
