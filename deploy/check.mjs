/** `npm run check`: runs all checks of the tree that need no processes of Headwater, two at a time. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { buf, compareWithBaseline } from './proto.mjs'

/** Fewer collections of the many objects of syntax trees: a tenth less time. */
const YOUNG = '--max-semi-space-size=128'

const bin = (name, file) => [process.execPath, join('node_modules', name, file)]

const STEPS = [
  {
    name: 'fast tests',
    command: [...bin('vitest', 'vitest.mjs'), 'run', '--project', 'fast'],
    tests: true,
    // The other long step has one process, which would have to wait for a core behind those of the tests.
    priority: 10,
  },
  { name: 'types and lint', command: [process.execPath, YOUNG, 'deploy/types-and-lint.mjs'] },
  { name: 'format', command: [...bin('oxfmt', 'bin/oxfmt'), '--check', '.'] },
  { name: 'proto', command: [...bin('@bufbuild/buf', 'bin/buf'), 'lint'] },
  { name: 'generated code', command: [process.execPath, 'deploy/check.mjs', '--generated'] },
  { name: 'breaking changes', command: [process.execPath, 'deploy/check.mjs', '--breaking'] },
]

/** Runs the checks. @param {string[]} args `--without-tests` skips the tests, for a caller that runs all of them anyway (.ci/run). */
export async function check(args) {
  const waiting = STEPS.filter((step) => !(step.tests && args.includes('--without-tests')))
  const failed = []
  const worker = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const began = Date.now()
      const { code, output } = await run(step)
      process.stdout.write(
        `${code === 0 ? 'ok  ' : 'FAIL'} ${step.name} (${((Date.now() - began) / 1000).toFixed(1)} s)\n`,
      )
      if (code === 0) continue
      failed.push(step.name)
      process.stdout.write(output)
    }
  }
  await Promise.all([worker(), worker()])
  if (failed.length > 0) process.stdout.write(`check failed: ${failed.join(', ')}\n`)
  process.exit(failed.length > 0 ? 1 : 0)
}

function run({ command: [file, ...args], priority = 0 }) {
  return new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' }
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
    setPriority(child.pid, priority)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** Generates proto/gen into another folder and compares the two. */
function compareGenerated() {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-gen-'))
  try {
    const template = join(folder, 'buf.gen.yaml')
    writeFileSync(
      template,
      readFileSync('buf.gen.yaml', 'utf8').replace('out: proto/gen', `out: ${join(folder, 'gen')}`),
    )
    if (buf('generate', '--template', template) !== 0) return 1
    const [have, want] = [filesIn('proto/gen'), filesIn(join(folder, 'gen'))]
    if (JSON.stringify(have) === JSON.stringify(want)) return 0
    process.stdout.write("proto/gen does not match proto/*.proto: run 'npm run proto'\n")
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
    .map((path) => [path.slice(folder.length), readFileSync(path, 'utf8')])
}

if (process.argv[2] === '--generated') process.exit(compareGenerated())
if (process.argv[2] === '--breaking') process.exit(compareWithBaseline())
