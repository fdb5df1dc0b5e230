/**
 * Installs the third-party programs that some tests use: `node deploy/tools.mjs`. They are optional: a program that cannot be
 * installed is reported, its tests are skipped, and the exit status is still 0. Plain JavaScript, because it runs before npm ci.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** Removed with node_modules; read by test/deploy/tools.ts. */
const OWN = join(ROOT, 'node_modules/.cache/headwater-tools')
const BIN = join(OWN, 'bin')
const MINUTES = 60_000

/** Programs by their Debian package. */
const PACKAGES = { promtool: 'prometheus', nginx: 'nginx-light', wrk: 'wrk', chromium: 'chromium' }
const CHROMES = ['chromium', 'chromium-browser', 'google-chrome', 'chrome']
/** Programs by their PyPI package of the same name, each with its version. */
const PYTHON = { 'kubernetes-validate': '1.37.0', schemathesis: '4.32.5' }
/** The parser of docker compose, without docker. */
const COMPOSE = 'github.com/compose-spec/compose-go/v2/cmd@v2.9.1'

const isThere = (name) =>
  [BIN, ...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].some((folder) =>
    existsSync(join(folder, name)),
  )

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, ...env },
    timeout: 5 * MINUTES,
  })
  return status === 0
}

function aptInstall() {
  const missing = Object.entries(PACKAGES)
    .filter(([name]) => !(name === 'chromium' ? CHROMES : [name]).some(isThere))
    .map(([, each]) => each)
  if (missing.length === 0 || process.getuid?.() !== 0 || !isThere('apt-get')) return
  // RUNLEVEL=1: installed services must not be started.
  const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  run('apt-get', ['update', '-qq'], env)
  // One by one: a package that this release lacks must not prevent the others.
  for (const each of missing)
    run('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', each], env)
}

function pipInstall() {
  if (!isThere('python3')) return
  for (const [name, version] of Object.entries(PYTHON)) {
    if (isThere(name)) continue
    const venv = join(OWN, name)
    if (!run('python3', ['-m', 'venv', venv])) return
    if (run(join(venv, 'bin/pip'), ['install', '--quiet', `${name}==${version}`]))
      symlinkSync(join(venv, 'bin', name), join(BIN, name))
  }
}

function goInstall() {
  if (isThere('compose-go') || !isThere('go')) return
  if (run('go', ['install', COMPOSE], { GOBIN: BIN, GOFLAGS: '-mod=mod' }))
    renameSync(join(BIN, 'cmd'), join(BIN, 'compose-go'))
}

mkdirSync(BIN, { recursive: true })
for (const install of [aptInstall, pipInstall, goInstall]) {
  try {
    install()
  } catch (error) {
    process.stdout.write(`tools: ${error.message}\n`)
  }
}
const wanted = [...Object.keys(PACKAGES), ...Object.keys(PYTHON), 'compose-go']
const missing = wanted.filter((name) => !(name === 'chromium' ? CHROMES : [name]).some(isThere))
process.stdout.write(
  missing.length === 0
    ? `tools: all installed (${wanted.join(', ')})\n`
    : `tools: not installed, their tests are skipped: ${missing.join(', ')}\n`,
)
