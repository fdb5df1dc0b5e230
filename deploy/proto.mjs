/**
 * `npm run proto`: proto/ as the declarations and the .proto files give it. reads.proto is written from the explorer's reads,
 * with the numbers of reads.lock.json, which gets those of new fields; all of it is linted, compared with what was ever there
 * (breaking-baseline.binpb), and turned into TypeScript.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const READS = 'proto/headwater/reads/v1/reads.proto'
const LOCK = 'proto/headwater/reads/v1/reads.lock.json'
const BASELINE = 'proto/breaking-baseline.binpb'

/** Writes everything, unless that breaks what clients know: then the baseline stays, and so does the complaint. */
export async function writeProto() {
  const { readsProto } = await import('../dist/deploy/reads-proto.js')
  const { text, lock } = readsProto(JSON.parse(readFileSync(LOCK, 'utf8')))
  writeFileSync(READS, text)
  writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`)
  const steps = [
    ['lint'],
    ['format', '--diff', '--exit-code'],
    ...(existsSync(BASELINE) ? [['breaking', '--against', BASELINE]] : []),
    ['build', '--exclude-source-info', '-o', BASELINE],
    ['generate'],
  ]
  for (const step of steps) if (buf(...step) !== 0) process.exit(1)
}

/** Whether nothing of the baseline is broken, and nothing new is missing in it. @returns an exit status. */
export function compareWithBaseline() {
  if (buf('breaking', '--against', BASELINE) !== 0) return 1
  const folder = mkdtempSync(join(tmpdir(), 'headwater-proto-'))
  try {
    const now = join(folder, 'now.binpb')
    if (buf('build', '--exclude-source-info', '-o', now) !== 0) return 1
    if (readFileSync(now).equals(readFileSync(BASELINE))) return 0
    process.stdout.write(`${BASELINE} does not know all of proto/: run 'npm run proto'\n`)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs buf, which finds its plugins on the path. @returns its exit status. */
export function buf(...args) {
  const path = `${join(process.cwd(), 'node_modules', '.bin')}:${process.env.PATH}`
  const command = join('node_modules', '@bufbuild', 'buf', 'bin', 'buf')
  const env = { ...process.env, PATH: path }
  return spawnSync(process.execPath, [command, ...args], { stdio: 'inherit', env }).status ?? 1
}
