/**
 * Runs the test suites of wallets' own libraries, unmodified, on a Bitcoin Core and Headwater: they start a node, `BITCOIND_EXE`, and
 * deploy/electrs-shim for each test. Needs cargo, which loads the crates.
 *
 *     BITCOIND_EXE=/path/to/bitcoind node deploy/wallet-suites.mjs [words]
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuilt } from './build.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDER = join(ROOT, '.data', 'wallet-suites')
/** The crates with their tests; `needs` are crates of their repositories that a published manifest leaves out. */
const SUITES = [
  { crate: 'esplora-client', version: '0.13.0' },
  { crate: 'bdk_esplora', version: '0.22.3', needs: { bdk_testenv: '0.13.1', bdk_chain: '0.23' } },
  { crate: 'bdk_electrum', version: '0.24.1', needs: { bdk_testenv: '0.13.1', bdk_chain: '0.23' } },
  {
    crate: 'lightning-transaction-sync',
    version: '0.2.0',
    args: ['--features', 'esplora-blocking,electrum'],
  },
]

const { BITCOIND_EXE } = process.env
if (BITCOIND_EXE === undefined) {
  process.stderr.write('SKIPPED: the suites of wallets need BITCOIND_EXE, the path of a bitcoind\n')
  process.exit(0)
}
await ensureBuilt()
mkdirSync(FOLDER, { recursive: true })
const words = process.argv.slice(2)
const failed = SUITES.filter(({ crate }) => words.every((word) => crate.includes(word))).filter(
  (suite) => !passes(suite),
)
for (const { crate } of failed) process.stderr.write(`FAILED: ${crate}\n`)
process.exit(failed.length > 0 ? 1 : 0)

function passes({ crate, version, needs = {}, args = [] }) {
  const name = `${crate}-${version}`
  const folder = join(FOLDER, name)
  if (!existsSync(folder)) {
    // Loads the crate into the cache of cargo.
    run('cargo', ['info', `${crate}@${version}`], FOLDER, 'ignore')
    const cache = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'registry', 'cache')
    const file = readdirSync(cache)
      .map((registry) => join(cache, registry, `${name}.crate`))
      .find(existsSync)
    if (file === undefined || run('tar', ['xzf', file, '-C', FOLDER], FOLDER) !== 0) {
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
  return run('cargo', ['test', ...args, '--', '--test-threads=1'], folder) === 0
}

function run(program, args, cwd, stdio = 'inherit') {
  const env = {
    ...process.env,
    CARGO_TARGET_DIR: join(FOLDER, 'target'),
    ELECTRS_EXE: process.env.ELECTRS_EXE ?? join(ROOT, 'deploy', 'electrs-shim'),
    BITCOIND_SKIP_DOWNLOAD: '1',
    ELECTRSD_SKIP_DOWNLOAD: '1',
  }
  return spawnSync(program, args, { cwd, env, stdio }).status
}
