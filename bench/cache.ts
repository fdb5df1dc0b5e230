import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { sourcesHash } from './job-runs.js'

const FORMAT_FILE = 'format'

/** The inputs that determine the data of a part. */
export interface Format {
  /** Numbers and other options. */
  readonly options: readonly (string | number)[]
  /** The files and folders of the project that determine the data, as git pathspecs. */
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
    const runs = [options.map(String)]
    const format = sourcesHash({ name, env: {}, runs, sources }, this.root)
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

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
