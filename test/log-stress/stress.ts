import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { type EventLog, type Topic, TOPICS } from '../../pipelines/log/port.js'
import { Random } from '../../services/simnode/random.js'
import { Load } from '../harness/load.js'
import { originOf } from './record.js'

export interface StressOptions {
  readonly seconds: number
  /** The number of processes that use the processors beside the others, without end. */
  readonly busyLoops: number
  /** Disables the mutual exclusion of writers. */
  readonly unprotected?: boolean
}

export interface StressResult {
  /** The violations that were found. */
  readonly wrong: readonly string[]
  readonly appends: number
  readonly records: number
  readonly failures: readonly string[]
  readonly kills: number
  readonly freezes: number
  readonly reopenings: number
}

/** An acknowledged append: `count` records of a writer from `number` on, the last of them at `position`. */
interface Acknowledged {
  readonly topic: Topic
  readonly writer: number
  readonly number: number
  readonly count: number
  readonly position: number
}

/** After this time a log is checked and replaced by a new one, so that it does not fill the disk. */
const SEGMENT_SECONDS = 60
const KILL_EVERY_MS = 700
const FREEZE_MS = 300
/** Two processes write to topic `chain`, of which one keeps the log open and one reopens it, so that they contend. */
const WORKERS: readonly { topic: Topic; reopens: boolean }[] = [
  { topic: 'chain', reopens: false },
  { topic: 'chain', reopens: true },
  { topic: 'node', reopens: false },
  { topic: 'committed', reopens: true },
  { topic: 'dead-letters', reopens: true },
]
const READ_BYTES = 8 * 2 ** 20

/**
 * Appends to the embedded log from several processes that read, reopen, freeze and are killed (kill -9), on a machine
 * that is short of processor time and disk, and checks every position and every byte at the end: each acknowledged
 * record exists once, at its position, and the only other records are those that a killed or failed append may have
 * left.
 */
export async function stress({ seconds, ...options }: StressOptions): Promise<StressResult> {
  const end = Date.now() + seconds * 1000
  const total = new Tally()
  for (let segment = 0; Date.now() < end && total.wrong.length === 0; segment++) {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-log-stress-'))
    const load = new Load({ busy: options.busyLoops, synced: 1, folder })
    try {
      const until = Math.min(end, Date.now() + SEGMENT_SECONDS * 1000)
      await new Segment(join(folder, 'log'), segment, options.unprotected === true, total).run(until)
    } finally {
      await load.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
  return total
}

class Tally implements StressResult {
  wrong: string[] = []
  failures: string[] = []
  appends = 0
  records = 0
  kills = 0
  freezes = 0
  reopenings = 0
}

class Segment {
  readonly #folder: string
  readonly #random: Random
  readonly #unprotected: boolean
  readonly #total: Tally
  readonly #acknowledged: Acknowledged[] = []
  readonly #children: (ChildProcess | undefined)[] = WORKERS.map(() => undefined)
  #writers = 0

  constructor(folder: string, segment: number, unprotected: boolean, total: Tally) {
    this.#folder = folder
    this.#random = Random.of('log-stress', segment)
    this.#unprotected = unprotected
    this.#total = total
  }

  async run(until: number): Promise<void> {
    WORKERS.forEach((_, index) => {
      this.#start(index)
    })
    try {
      while (Date.now() < until && this.#total.wrong.length === 0) {
        await sleep(this.#random.below(2 * KILL_EVERY_MS))
        await this.#disturb(this.#random.below(WORKERS.length))
      }
    } finally {
      await Promise.all(WORKERS.map((_, index) => this.#kill(index)))
    }
    await this.#check()
  }

  async #disturb(index: number): Promise<void> {
    if (this.#random.chance(0.5)) {
      await this.#kill(index)
      this.#total.kills++
      this.#start(index)
      return
    }
    this.#children[index]?.kill('SIGSTOP')
    await sleep(this.#random.below(FREEZE_MS))
    this.#children[index]?.kill('SIGCONT')
    this.#total.freezes++
  }

  #start(index: number): void {
    const { topic, reopens } = WORKERS[index] ?? { topic: 'chain', reopens: false }
    const script = join(import.meta.dirname, 'worker.js').replace(/\/test\/log-stress\//, '/dist$&')
    const args = [script.replace('/dist/dist/', '/dist/'), this.#folder, topic, String(this.#writers++)]
    args.push(reopens ? 'reopens' : 'stays', this.#unprotected ? 'unprotected' : 'protected')
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#children[index] = child
    this.#hear(child, topic)
  }

  #hear(child: ChildProcess, topic: Topic): void {
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(line, topic)
    })
    let said = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL')
        this.#total.wrong.push(`a process exited by itself (${String(signal ?? code)}): ${said}`)
    })
  }

  #take(line: string, topic: Topic): void {
    const [kind, ...rest] = line.split(' ')
    const [writer = 0, number = 0, count = 0, position = 0] = rest.map(Number)
    if (kind === 'ack') this.#acknowledged.push({ topic, writer, number, count, position })
    else if (kind === 'reopened') this.#total.reopenings++
    else if (kind === 'failed') this.#total.failures.push(rest.join(' '))
    else this.#total.wrong.push(line)
  }

  async #kill(index: number): Promise<void> {
    const child = this.#children[index]
    if (child?.exitCode !== null || child.signalCode !== null) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    await closed
  }

  async #check(): Promise<void> {
    const log = await openEmbeddedLog(this.#folder)
    try {
      for (const topic of TOPICS) {
        const origins = await this.#readAll(log, topic)
        this.#total.records += origins.length
        this.#compare(topic, origins)
      }
    } finally {
      await log.close()
    }
    this.#total.appends += this.#acknowledged.length
  }

  /** The record at each position, as `writer/number`. */
  async #readAll(log: EventLog, topic: Topic): Promise<string[]> {
    const origins: string[] = []
    for (;;) {
      const records = await log.read(topic, origins.length, 10_000, READ_BYTES)
      for (const { position, value } of records) {
        if (position !== origins.length)
          this.#wrong(topic, position, `was read at position ${String(origins.length)}`)
        const origin = originOf(topic, value)
        if (origin === undefined) this.#wrong(topic, position, 'holds a value that was not appended')
        origins.push(`${String(origin?.writer)}/${String(origin?.number)}`)
      }
      if (records.length === 0) break
    }
    if ((await log.last(topic)) !== origins.length - 1) this.#wrong(topic, origins.length, 'is not the end')
    return origins
  }

  #compare(topic: Topic, origins: readonly string[]): void {
    const found = new Set(origins)
    if (found.size !== origins.length)
      this.#wrong(topic, origins.length, 'is more than was appended: there are duplicates')
    for (const { writer, number, count, position } of this.#acknowledged.filter(
      (each) => each.topic === topic,
    ))
      for (let i = 0; i < count; i++) {
        const [at, expected] = [position - count + 1 + i, `${String(writer)}/${String(number + i)}`]
        if (origins[at] !== expected)
          this.#wrong(topic, at, `was acknowledged as ${expected} and holds ${origins[at] ?? 'nothing'}`)
      }
  }

  #wrong(topic: Topic, position: number, what: string): void {
    this.#total.wrong.push(`${topic} ${String(position)} ${what}`)
  }
}
