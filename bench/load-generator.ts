import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cpuSecondsOf } from '../test/harness/processes.js'
import { Connection, type Received } from './load-connection.js'

/** A load of some seconds; the first ones are not counted. */
interface Span {
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** The number of connections that each send the next request as soon as the last one is answered. */
export interface ClosedLoad extends Span {
  readonly kind: 'closed'
  readonly connections: number
}

/** Requests that are sent on a schedule, however long answers take. */
export interface OpenLoad extends Span {
  readonly kind: 'open'
  /** Requests per second. */
  readonly rate: number
  /** One of this number of clients disconnects directly after its request. */
  readonly leaverEvery: number
}

/**
 * The results of the counted requests. Times are milliseconds from the moment at which a request was due, in no
 * order.
 */
export interface LoadResult {
  /** Times of answers with status 200. */
  readonly times: readonly number[]
  /** Times of answers with 503 and Retry-After. */
  readonly refusalTimes: readonly number[]
  /** The number of other outcomes, by status or error. */
  readonly others: Readonly<Record<string, number>>
  /** The number of clients that disconnected. */
  readonly left: number
  /** The delays with which requests were sent. */
  readonly lags: readonly number[]
  /** The share of a core that the generator itself used. */
  readonly cpuShare: number
}

export interface Target {
  readonly port: number
  /** The paths, from the last to the first, each requested once unless it was refused. */
  readonly paths: readonly string[]
  /** True to start over after the first path. */
  readonly repeats?: boolean
  /** The header `accept`. Not set: none. */
  readonly accept?: string
}

/**
 * A process that sends requests to an explorer on this machine and does nothing else, so that it is not part of what
 * is measured.
 */
export class LoadGenerator {
  readonly #child
  readonly #ended: Promise<[string]>

  constructor(target: Target) {
    this.#child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })
    this.#ended = once(this.#child, 'exit').then(() => ['the load generator ended'])
    this.#child.send(target)
  }

  /** @throws Error if the load could not be made. */
  async make(load: ClosedLoad | OpenLoad): Promise<LoadResult> {
    this.#child.send(load)
    const [result] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [
      LoadResult | string,
    ]
    if (typeof result === 'string') throw new Error(result)
    return result
  }

  /** Returns the processor time that it has used, in seconds. */
  cpuSeconds(): number {
    return this.#child.pid === undefined ? 0 : cpuSecondsOf(this.#child.pid)
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** Longer than an explorer takes for any answer. */
const PATIENCE_MS = 10_000
const MAX_CONNECTIONS = 8_000
/**
 * Idle connections when requests start, as many as requests arrive in this time: a burst should not wait for handshakes. More at once
 * than a listening socket's backlog would be repeated by the kernel only after a second.
 */
const READY_SECONDS = 0.15
/** The explorer closes connections that have been idle for 8 s or more: a request must not cross with that. */
const MAX_IDLE_MS = 6_000
/** Less than a listening socket's backlog. */
const OPENED_AT_ONCE = 100

class Tally {
  readonly #times: number[] = []
  readonly #refusalTimes: number[] = []
  readonly #others = new Map<string, number>()
  readonly lags: number[] = []
  left = 0

  ended(received: Received | undefined, ms: number): void {
    if (received?.status === 200) this.#times.push(ms)
    else if (received?.status === 503 && received.hasRetryAfter) this.#refusalTimes.push(ms)
    else this.other(received === undefined ? 'connection closed' : String(received.status))
  }

  other(what: string, count = 1): void {
    this.#others.set(what, (this.#others.get(what) ?? 0) + count)
  }

  result(cpuShare: number): LoadResult {
    const { left, lags } = this
    const others = Object.fromEntries(this.#others)
    return { times: this.#times, refusalTimes: this.#refusalTimes, others, left, lags, cpuShare }
  }
}

/** Makes loads in the generator's process, one after the other. */
export class LoadClient {
  readonly #port: number
  #paths: string[]
  readonly #accept: string | undefined
  #refused: string[] = []
  readonly #repeated: readonly string[]
  /** Idle connections, each with the time since when, in ms; the one that has been idle for longest first. */
  readonly #idle = new Map<Connection, number>()
  #connections = 0

  constructor({ port, paths, repeats = false, accept }: Target) {
    this.#accept = accept
    this.#port = port
    this.#paths = [...paths]
    this.#repeated = repeats ? paths : []
  }

  async make(load: ClosedLoad | OpenLoad): Promise<LoadResult> {
    const ready = load.kind === 'closed' ? load.connections : Math.ceil(load.rate * READY_SECONDS)
    await this.#hold(Math.min(ready, MAX_CONNECTIONS))
    const [used, beganAt] = [process.cpuUsage(), performance.now()]
    const tally = load.kind === 'closed' ? await this.#closed(load) : await this.#open(load)
    const { user, system } = process.cpuUsage(used)
    return tally.result((user + system) / 1000 / (performance.now() - beganAt))
  }

  async #closed({ connections, warmUpSeconds, seconds }: ClosedLoad): Promise<Tally> {
    const from = performance.now() + warmUpSeconds * 1000
    const end = from + seconds * 1000
    const tally = new Tally()
    const ask = async (): Promise<void> => {
      for (let now = performance.now(); now < end;) {
        const askedAt = now
        const received = await this.#get(this.#path())
        now = performance.now()
        // At a fixed rate, answers within its seconds count, whenever they were requested.
        if (now >= from && now < end) tally.ended(received, now - askedAt)
      }
    }
    await Promise.all(Array.from({ length: connections }, ask))
    return tally
  }

  async #open({ rate, leaverEvery, warmUpSeconds, seconds }: OpenLoad): Promise<Tally> {
    const tally = new Tally()
    const total = Math.round(rate * (warmUpSeconds + seconds))
    const uncounted = rate * warmUpSeconds
    const beganAt = performance.now()
    let underWay = 0
    for (let sent = 0; sent < total; await sleep(1)) {
      const due = Math.min(total, ((performance.now() - beganAt) * rate) / 1000)
      // Without a free connection a request waits, and its time counts from when it was due.
      for (; sent < due && this.#hasConnection(); sent++) {
        const dueAt = beganAt + (sent * 1000) / rate
        const isCounted = sent >= uncounted
        const path = this.#path()
        if (isCounted) tally.lags.push(performance.now() - dueAt)
        if (sent % leaverEvery === leaverEvery - 1) {
          this.#take().getAndLeave(path)
          this.#replace()
          if (isCounted) tally.left++
          continue
        }
        underWay++
        void this.#get(path).then((received) => {
          underWay--
          if (isCounted) tally.ended(received, performance.now() - dueAt)
          // It was not looked up, so it is as cold as before.
          if (received?.status === 503) this.#refused.push(path)
        })
      }
    }
    const end = performance.now() + PATIENCE_MS
    while (underWay > 0 && performance.now() < end) await sleep(5)
    if (underWay > 0) tally.other('no answer', underWay)
    return tally
  }

  /** Opens and closes idle connections until there are this many. */
  async #hold(count: number): Promise<void> {
    for (const connection of this.#idle.keys()) {
      if (this.#connections <= count) break
      connection.close()
      await new Promise(setImmediate)
    }
    while (this.#connections < count) {
      const some = Array.from({ length: Math.min(OPENED_AT_ONCE, count - this.#connections) }, () => {
        return new Promise<void>((resolve) => this.#idle.set(this.#newConnection(resolve), performance.now()))
      })
      await Promise.all(some)
    }
  }

  #get(path: string): Promise<Received | undefined> {
    return new Promise((resolve) => {
      this.#take().get(path, resolve)
    })
  }

  /** @throws Error if every path was requested: a second request might be answered from memory. */
  #path(): string {
    if (this.#paths.length === 0) [this.#paths, this.#refused] = [[...this.#refused, ...this.#repeated], []]
    const path = this.#paths.pop()
    if (path === undefined) throw new Error('the chain has too few transactions for this machine')
    return path
  }

  #hasConnection(): boolean {
    return this.#idle.size > 0 || this.#connections < MAX_CONNECTIONS
  }

  /** Opens a connection in place of one that is left, so that handshakes do not come in bursts. */
  #replace(): void {
    if (this.#connections >= MAX_CONNECTIONS) return
    const connection = this.#newConnection(() => this.#idle.set(connection, performance.now()))
  }

  #take(): Connection {
    for (const [connection, since] of this.#idle) {
      this.#idle.delete(connection)
      if (performance.now() - since < MAX_IDLE_MS) return connection
      connection.close()
    }
    return this.#newConnection(() => undefined)
  }

  #newConnection(opened: () => void): Connection {
    if (this.#connections >= MAX_CONNECTIONS) throw new Error('the load generator is out of connections')
    this.#connections++
    const connection = new Connection(
      this.#port,
      {
        opened,
        idle: () => this.#idle.set(connection, performance.now()),
        closed: () => {
          this.#connections--
          this.#idle.delete(connection)
        },
      },
      this.#accept,
    )
    return connection
  }
}

function serve(target: Target): void {
  const client = new LoadClient(target)
  process.on('message', (load: ClosedLoad | OpenLoad) => {
    void client.make(load).then(
      (result) => process.send?.(result),
      (error: unknown) => process.send?.(error instanceof Error ? error.message : String(error)),
    )
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.once('message', serve)
