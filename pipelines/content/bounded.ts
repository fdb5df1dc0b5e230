import { parentPort, Worker } from 'node:worker_threads'
import { ContentError } from './page.js'

type Answer<Result> =
  | { readonly result: Result }
  /** `line` where the fault is one of the file. */
  | { readonly error: string; readonly line: number | undefined }

interface Asked<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/** What one job may take; a page of 300 KB takes half of it. */
const HEAP_MB = 192
/** Of this process, so that a busy machine makes no page too long; one of 1 MB takes half of it. */
const MOST_CPU_MS = 30_000
const LOOK_EVERY_MS = 500
/** A thread that has nothing to do is ended, for its memory. */
const IDLE_MS = 10_000

/** A job would take more memory or time than any may have. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch'
}

/** Work on what others wrote, one job at a time in a thread of bounded memory and time: what is too much ends the thread, not us. */
export class Bounded<Job, Result> {
  readonly #script: URL
  #thread: Worker | undefined
  #asked: Asked<Result> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #closed = false

  /** @param script of the thread, which answers by `answerJobs`: from the root of the sources, without its ending. */
  constructor(script: string) {
    // A thread is plain JavaScript: started out of the sources (tests), the built one is taken.
    const root = import.meta.url.endsWith('.ts') ? '../../dist/' : '../../'
    this.#script = new URL(`${root}${script}.js`, import.meta.url)
  }

  /** @throws TooMuch, ContentError, or what else went wrong. */
  do(job: Job): Promise<Result> {
    const done = this.#last.then(() => this.#do(job))
    this.#last = done.catch(() => undefined)
    return done
  }

  /** What is under way fails, and so does all that is asked later. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#idle)
    this.#end(new Error('closed'))
  }

  async #do(job: Job): Promise<Result> {
    if (this.#closed) throw new Error('closed')
    clearTimeout(this.#idle)
    const thread = (this.#thread ??= this.#start())
    // A process may end while its thread waits, and not while it works.
    thread.ref()
    const before = process.cpuUsage()
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(before)
      if ((user + system) / 1000 > MOST_CPU_MS)
        this.#end(new TooMuch('it takes too much time: make several pages of it'))
    }, LOOK_EVERY_MS)
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#asked = { resolve, reject }
        thread.postMessage(job)
      })
    } finally {
      clearInterval(timer)
      thread.unref()
      this.#idle = setTimeout(() => {
        this.#end(new Error('idle'))
      }, IDLE_MS).unref()
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#script, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 8 },
    })
    thread.on('message', (answer: Answer<Result>) => {
      if (this.#thread !== thread) return
      if ('result' in answer) this.#asked?.resolve(answer.result)
      else this.#asked?.reject(errorOf(answer))
    })
    const lost = (error: Error): void => {
      if (this.#thread === thread) this.#end(error)
    }
    thread.on('error', (error: NodeJS.ErrnoException) => {
      const isFull = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      lost(isFull ? new TooMuch('it takes too much memory: make several pages of it') : error)
    })
    thread.on('exit', () => {
      lost(new Error('its thread has ended'))
    })
    return thread
  }

  #end(error: Error): void {
    void this.#thread?.terminate()
    this.#thread = undefined
    this.#asked?.reject(error)
  }
}

const errorOf = ({ error, line }: { error: string; line: number | undefined }): Error =>
  line === undefined ? new Error(error) : new ContentError(line, error)

/** The thread's side: answers each job with what the work makes of it. */
export function answerJobs(work: (job: never) => unknown): void {
  parentPort?.on('message', (job) => {
    parentPort?.postMessage(answerOf(() => work(job as never)))
  })
}

function answerOf<Result>(work: () => Result): Answer<Result> {
  try {
    return { result: work() }
  } catch (error) {
    const line = error instanceof ContentError ? error.line : undefined
    return { error: error instanceof Error ? error.message : String(error), line }
  }
}
