import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './processes.js'

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>
}

/**
 * Builds the project as of a commit of this repository, in `.data/versions`; an existing build is used again.
 * @returns its folder.
 * @throws Error if the history does not reach back that far, or the build fails.
 */
export function earlierVersion(commit: string): string {
  const folder = join(ROOT, '.data/versions', commit)
  if (existsSync(folder)) return folder
  const known = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0
  if (!known)
    throw new Error(
      `commit ${commit} is not in this repository: the history is shallow; run 'git fetch --unshallow' (in CI: check out with the whole history)`,
    )
  const draft = `${folder}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', draft], { input: archive })
  if (hasPackagesOf(draft)) symlinkSync(join(ROOT, 'node_modules'), join(draft, 'node_modules'))
  else run(draft, 'npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'])
  // The version's own `npm run build`, so that everything that runs is of that version.
  run(draft, process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
  run(draft, process.execPath, ['deploy/copy-assets.mjs'])
  writeFileSync(join(draft, 'BUILT'), `${commit}\n`)
  renameSync(draft, folder)
  return folder
}

/** Returns whether the packages of this version include all that the other one pins. */
function hasPackagesOf(folder: string): boolean {
  const read = (path: string): Lock['packages'] => (JSON.parse(readFileSync(path, 'utf8')) as Lock).packages
  const installed = read(join(ROOT, 'node_modules/.package-lock.json'))
  return Object.entries(read(join(folder, 'package-lock.json'))).every(
    ([path, { version, optional }]) =>
      path === '' || optional === true || installed[path]?.version === version,
  )
}

function run(cwd: string, command: string, args: readonly string[]): void {
  const { status, stderr, stdout, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`)
}
