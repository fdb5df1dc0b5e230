/**
 * Runs the test suites of wallets' own libraries, unmodified, on a Bitcoin Core and Headwater: they start a node, `BITCOIND_EXE`, and
 * deploy/electrs-shim for each test. Needs cargo, which loads the crates. Then runs Electrum itself, `ELECTRUM_EXE`. Words select suites by their names.
 *
 *     BITCOIND_EXE=/path/to/bitcoind ELECTRUM_EXE=/usr/bin/electrum node deploy/wallet-suites.mjs [words]
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuilt } from './build.mjs'
import { runElectrumSuite } from './electrum-suite.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDER = join(ROOT, '.data', 'wallet-suites')
/**
 * The crates with their tests. `needs`: crates of their repositories that a published manifest leaves out. `failing`: tests that fail, and
 * why.
 */
const SUITES = [
  {
    crate: 'esplora-client',
    version: '0.13.0',
    failing: { test_get_tx_info: 'reads a field of the node that Bitcoin Core has since version 29' },
  },
  { crate: 'bdk_esplora', version: '0.22.3', needs: { bdk_testenv: '0.13.1', bdk_chain: '0.23' } },
  { crate: 'bdk_electrum', version: '0.24.1', needs: { bdk_testenv: '0.13.1', bdk_chain: '0.23' } },
  {
    crate: 'lightning-transaction-sync',
    version: '0.2.0',
    args: ['--features', 'esplora-blocking,electrum'],
  },
]

const { BITCOIND_EXE, ELECTRUM_EXE, ELECTRS_EXE = join(ROOT, 'deploy', 'electrs-shim') } = process.env
if (BITCOIND_EXE === undefined) {
  process.stderr.write('SKIPPED: the suites of wallets need BITCOIND_EXE, the path of a bitcoind\n')
  process.exit(0)
}
await ensureBuilt()
mkdirSync(FOLDER, { recursive: true })
const words = process.argv.slice(2)
const isSelected = (name) => words.every((word) => name.includes(word))
const failed = []
for (const suite of SUITES) if (isSelected(suite.crate) && !(await passes(suite))) failed.push(suite.crate)
if (isSelected('Electrum') && !(await electrumPasses())) failed.push('Electrum')
for (const name of failed) process.stderr.write(`FAILED: ${name}\n`)
process.exit(failed.length > 0 ? 1 : 0)

async function electrumPasses() {
  if (ELECTRUM_EXE === undefined) {
    process.stderr.write('SKIPPED: the suite of Electrum needs ELECTRUM_EXE, the path of the program\n')
    return true
  }
  const programs = { electrum: ELECTRUM_EXE, bitcoind: BITCOIND_EXE, electrs: ELECTRS_EXE }
  try {
    await runElectrumSuite(programs, join(FOLDER, 'electrum'))
    return true
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    return false
  }
}

async function passes({ crate, version, needs = {}, args = [], failing = {} }) {
  const name = `${crate}-${version}`
  const folder = join(FOLDER, name)
  if (!existsSync(folder)) {
    // Loads the crate into the cache of cargo.
    spawnSync('cargo', ['info', `${crate}@${version}`], { cwd: FOLDER, stdio: 'ignore' })
    const cache = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'registry', 'cache')
    const file = readdirSync(cache)
      .map((registry) => join(cache, registry, `${name}.crate`))
      .find(existsSync)
    if (file === undefined || spawnSync('tar', ['xzf', file, '-C', FOLDER]).status !== 0) {
      rmSync(folder, { recursive: true, force: true })
      process.stderr.write(`${name} cannot be loaded\n`)
      return false
    }
    for (const [dependency, required] of Object.entries(needs))
      appendFileSync(
        join(folder, 'Cargo.toml'),
        `\n[dev-dependencies.${dependency}]\nversion = "${required}"\n`,
      )
  }
  const { status, output } = await cargoTest(args, folder)
  const found = [...output.matchAll(/^test (\S+) \.\.\. FAILED$/gm)].map(([, test]) => test)
  for (const test of found)
    process.stderr.write(`${crate}: ${test} failed: ${failing[test] ?? 'UNEXPECTED'}\n`)
  // Without a failed test, it has not been built.
  return status === 0 || (found.length > 0 && found.every((test) => test in failing))
}

/** Runs all tests of a crate. @returns the status, and what was printed. */
async function cargoTest(args, cwd) {
  const env = {
    ...process.env,
    CARGO_TARGET_DIR: join(FOLDER, 'target'),
    ELECTRS_EXE,
    BITCOIND_SKIP_DOWNLOAD: '1',
    ELECTRSD_SKIP_DOWNLOAD: '1',
  }
  const all = ['test', '--no-fail-fast', ...args, '--', '--test-threads=1']
  const child = spawn('cargo', all, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    output += text
  })
  const [status] = await once(child, 'close')
  return { status, output }
}
