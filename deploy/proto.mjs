/**
 * `npm run proto`: generates proto/. reads.proto is generated from the declared reads of the explorer, with the field numbers of
 * reads.lock.json, to which those of new fields are added, and so are the types of the client, and the examples of OpenAPI from the pages of the documentation. Then all .proto files are linted, compared with everything that was
 * ever published (breaking-baseline.binpb), and compiled to TypeScript.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const READS = 'proto/headwater/reads/v1/reads.proto'
const LOCK = 'proto/headwater/reads/v1/reads.lock.json'
const CLIENT = 'services/client/gen/reads.ts'
const EXAMPLES = 'services/explorer/faces/rest/description/examples.json'
const BASELINE = 'proto/breaking-baseline.binpb'

/** Writes everything, unless a change would break clients: then the baseline stays and the error is shown. */
export async function writeProto() {
  const { readsProto } = await import('../dist/deploy/reads-proto.js')
  const { text, lock } = readsProto(JSON.parse(readFileSync(LOCK, 'utf8')))
  writeFileSync(READS, text)
  writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`)
  const { clientReads } = await import('../dist/deploy/client-reads.js')
  const { format } = await import('oxfmt')
  const { code } = await format(CLIENT, clientReads(), JSON.parse(readFileSync('.oxfmtrc.json', 'utf8')))
  writeFileSync(CLIENT, code)
  const { apiExamples } = await import('../dist/deploy/api-examples.js')
  const pages = readdirSync('content', { recursive: true }).filter((path) => /\.mdx?$/.test(path))
  const examples = apiExamples(pages.sort().map((path) => readFileSync(join('content', path), 'utf8')))
  writeFileSync(EXAMPLES, `${JSON.stringify(examples, null, 2)}\n`)
  const steps = [
    ['lint'],
    ['format', '--diff', '--exit-code'],
    ...(existsSync(BASELINE) ? [['breaking', '--against', BASELINE]] : []),
    ['build', '--exclude-source-info', '-o', BASELINE],
    ['generate'],
  ]
  for (const step of steps) if (buf(...step) !== 0) process.exit(1)
}

/** Checks that nothing of the baseline is broken, and that it contains everything. @returns an exit status. */
export function compareWithBaseline() {
  if (buf('breaking', '--against', BASELINE) !== 0) return 1
  const folder = mkdtempSync(join(tmpdir(), 'headwater-proto-'))
  try {
    const now = join(folder, 'now.binpb')
    if (buf('build', '--exclude-source-info', '-o', now) !== 0) return 1
    if (readFileSync(now).equals(readFileSync(BASELINE))) return 0
    process.stdout.write(`${BASELINE} does not describe all of proto/: run 'npm run proto'\n`)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs buf, with its plugins on the path. @returns its exit status. */
export function buf(...args) {
  const path = `${join(process.cwd(), 'node_modules', '.bin')}:${process.env.PATH}`
  const command = join('node_modules', '@bufbuild', 'buf', 'bin', 'buf')
  const env = { ...process.env, PATH: path }
  return spawnSync(process.execPath, [command, ...args], { stdio: 'inherit', env }).status ?? 1
}
