/**
 * Runs a command from a fresh clone: checks the version of Node, installs packages, builds, then runs the command.
 * Plain JavaScript without packages, because it runs before they are installed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const VITEST = join('node_modules', 'vitest', 'vitest.mjs')
const NEEDED = { major: 20, minor: 19, below: 26 }

const COMMANDS = {
  start: (...args) => runBuilt('services/start/main.js', args),
  run: (name, ...args) => runBuilt(`services/${name}/main.js`, args),
  chaos: (...args) => runBuilt('test/chaos/main.js', args),
  backfill: (...args) => runBuilt('test/backfill/main.js', args),
  bench: (...args) => runBuilt('bench/main.js', args),
  screenshots: (...args) => runBuilt('bench/screenshots.js', args),
  test: (...args) => runNode([VITEST, 'run', ...args]),
  check: async (...args) => (await import('./check.mjs')).check(args),
  proto: async () => (await import('./proto.mjs')).writeProto(),
  'check-long': (...args) => runBuilt('bench/long.js', args),
}

assertNode()
const [name = 'start', ...rest] = process.argv.slice(2)
const args = rest[0] === '--' ? rest.slice(1) : rest
const command = COMMANDS[name]
if (command === undefined)
  fail(`unknown command: ${name}; the commands are ${Object.keys(COMMANDS).join(', ')}`)
process.chdir(ROOT)
installPackages()
await (await import('./build.mjs')).ensureBuilt().catch((error) => fail(error.message))
endWithShell()
await command(...args)

/**
 * Stops this process when the shell of npm exits: npm sends SIGTERM to that shell, which dies without forwarding it, and this
 * process only sees its parent change. Without npm, the exit of the parent is no reason to stop: nohup and daemons run that way.
 */
function endWithShell() {
  if (process.env.npm_lifecycle_event === undefined) return
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  watch.unref()
}

function assertNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const old = major < NEEDED.major || (major === NEEDED.major && minor < NEEDED.minor)
  if (!old && major < NEEDED.below) return
  const allowed = `${NEEDED.major}.${NEEDED.minor} or later, below ${NEEDED.below}`
  fail(
    `this is Node ${process.versions.node}; the native packages need Node ${allowed} (20, 22 or 24 are tested)`,
  )
}

/** Runs npm ci if a package of the lock file is missing or has another version. */
function installPackages() {
  if (packagesAreThere()) return
  process.stderr.write(
    'headwater: installing packages (npm ci); the first time this downloads ClickHouse, 600 MB, and takes minutes\n',
  )
  const npm = process.env.npm_execpath
  // Includes development packages, whatever NODE_ENV is: the compiler is one of them.
  const ci = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error } =
    npm === undefined
      ? spawnSync('npm', ci, { stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
      : spawnSync(process.execPath, [npm, ...ci], { stdio: ['ignore', 2, 2] })
  if (status !== 0) fail(`npm ci failed (${error?.message ?? `status ${status}`}); its output is above`)
}

function packagesAreThere() {
  const installed = join('node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  const have = JSON.parse(readFileSync(installed, 'utf8')).packages
  const want = Object.entries(JSON.parse(readFileSync('package-lock.json', 'utf8')).packages)
  // Optional packages may be for other platforms.
  return want.every(
    ([path, entry]) => path === '' || entry.optional === true || have[path]?.version === entry.version,
  )
}

/** Runs the module in this process, so that signals need no forwarding. */
async function runBuilt(file, args = []) {
  const path = join(ROOT, 'dist', file)
  if (!existsSync(path)) fail(`${file.replace(/\.js$/, '.ts')} does not exist`)
  process.argv = [process.argv[0], path, ...args]
  await import(pathToFileURL(path).href)
}

function runNode(args) {
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
}

function fail(message) {
  process.stderr.write(`headwater: ${message}\n`)
  process.exit(1)
}
