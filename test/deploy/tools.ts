import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'

const ROOT = resolve(import.meta.dirname, '../..')
/** The folder in which `node deploy/tools.mjs` installs programs that no system package contains. */
const OWN_FOLDER = join(ROOT, 'node_modules/.cache/headwater-tools/bin')
const FOLDERS = [OWN_FOLDER, ...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/**
 * Returns the path of a program on this machine, or undefined: then the tests that need it are skipped with a
 * message.
 */
export function tool(name: string): string | undefined {
  const found = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (found === undefined)
    console.warn(`SKIPPED: there is no ${name} on this machine ('node deploy/tools.mjs' installs it)`)
  return found
}

export interface Ran {
  readonly status: number | null
  readonly output: string
}

/**
 * Runs a program of the machine in the project's folder, for some minutes at most; returns standard output and error
 * together.
 */
export function ran(program: string, args: readonly string[]): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 300_000,
  })
  return { status, output: error === undefined ? stdout + stderr : error.message }
}

/** A file of the project. */
export function text(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read documents as their users do
export type Document = any

/**
 * Parses the documents of a YAML file.
 * @throws Error for any error or warning of the parser, including duplicate keys.
 */
export function documents(path: string): Document[] {
  return parseAllDocuments(text(path), { merge: true }).map((document) => {
    const fault = [...document.errors, ...document.warnings][0]
    if (fault !== undefined) throw new Error(`${path}: ${fault.message}`)
    return document.toJS()
  })
}
