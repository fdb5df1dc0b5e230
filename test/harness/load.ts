import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

/** Each process exits by itself when the process that started it no longer exists. */
const BUSY = `
const parent = process.ppid
while (process.ppid === parent) for (const end = Date.now() + 100; Date.now() < end; );`

const SYNCED = `
const { fsyncSync, openSync, writeSync } = require('node:fs')
const parent = process.ppid
const [file, bytes] = [openSync(process.argv[1], 'w'), Buffer.alloc(64 << 10, 1)]
for (let at = 0; process.ppid === parent; at = (at + 1) % 64) {
  writeSync(file, bytes, 0, bytes.length, at * bytes.length)
  fsyncSync(file)
}`

export interface LoadOptions {
  /** Starts processes that only use a processor. */
  readonly busy?: number
  /** Starts processes that write 64 KiB and sync it in a loop, each to a file of 4 MiB in the folder. */
  readonly synced?: number
  readonly folder: string
}

/** Load that takes processors and disk from the processes under test. */
export class Load {
  readonly #children: ChildProcess[] = []
  readonly #files: string[] = []

  constructor({ busy = 0, synced = 0, folder }: LoadOptions) {
    for (let i = 0; i < busy; i++) this.#start(BUSY)
    for (let i = 0; i < synced; i++) {
      const file = join(folder, `synced-${String(i)}`)
      this.#files.push(file)
      this.#start(SYNCED, file)
    }
  }

  /** The number of its processes that run. */
  get running(): number {
    return this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .length
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.splice(0).map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }),
    )
    for (const file of this.#files.splice(0)) rmSync(file, { force: true })
  }

  #start(program: string, ...args: string[]): void {
    this.#children.push(spawn(process.execPath, ['-e', program, ...args], { stdio: 'ignore' }))
  }
}
