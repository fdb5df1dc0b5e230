import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const FORMAT_FILE = 'format'

/** The inputs that determine the data of a part. */
export interface Format {
  /** Numbers and other options. */
  readonly options: readonly (string | number)[]
  /** The files and folders that determine the data, from the project's root. */
  readonly sources: readonly string[]
}

/**
 * Returns the folder in which benchmarks keep chains and indexes between runs: `BENCH_CACHE_DIR`, or `headwater-bench` in the user's
 * cache folder. Quick runs use a folder in it, so that their small chains do not replace the large one.
 * @throws Error if it is in the repository.
 */
export function cacheFolder(
  env: Readonly<Record<string, string | undefined>>,
  root: string,
  quick: boolean,
): string {
  const userCache = env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const base = resolve(env['BENCH_CACHE_DIR'] ?? join(userCache, 'headwater-bench'))
  const folder = quick ? join(base, 'quick') : base
  if (`${folder}/`.startsWith(`${resolve(root)}/`))
    throw new Error(`BENCH_CACHE_DIR must be outside the repository, got '${folder}'`)
  return folder
}

/** Data that takes long to make. There is one folder for each part: a part in another format replaces the earlier one. */
export class Cache {
  constructor(
    private readonly folder: string,
    private readonly root: string,
  ) {}

  /**
   * Returns the folder of a part. Builds it if it is missing, was not completed, or has another format.
   * @param bytes the free space that building it takes. @throws Error if there is less.
   */
  async part(
    name: string,
    { options, sources }: Format,
    bytes: number,
    build: (folder: string) => Promise<void>,
  ): Promise<string> {
    const part = join(this.folder, name)
    const format = `${options.join(' ')} ${hashOf(sources.map((path) => join(this.root, path)))}`
    const marker = join(part, FORMAT_FILE)
    if ((await readFile(marker, 'utf8').catch(() => '')) === format) return part
    await rm(part, { recursive: true, force: true })
    await mkdir(part, { recursive: true })
    const { bavail, bsize } = await statfs(part)
    if (bavail * bsize < bytes)
      throw new Error(
        `${part} needs ${gigabytes(bytes)}, and ${gigabytes(bavail * bsize)} are free: set BENCH_CACHE_DIR to a folder on another disk`,
      )
    process.stderr.write(`bench: building ${part} (kept for later runs, up to ${gigabytes(bytes)})\n`)
    await build(part)
    await writeFile(marker, format)
    return part
  }
}

/** Returns a hash of the content of files and of all files in folders. */
function hashOf(paths: readonly string[]): string {
  const hash = createHash('sha256')
  const add = (path: string): void => {
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name))
    else hash.update(readFileSync(path))
  }
  paths.forEach(add)
  return hash.digest('hex')
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
