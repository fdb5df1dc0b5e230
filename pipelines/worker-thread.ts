import { parentPort, Worker, type WorkerOptions } from 'node:worker_threads'
import { coded, PROGRAMMING_ERRORS } from './errors.js'

/** Threads run the build, also where this module runs from its sources, as in tests. */
const BUILD = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : '../', import.meta.url)

/** What a bounded job may take; a page of 300 KB takes half of it. */
const MOST_HEAP_MB = 192
/** Of this process, so that a busy machine fails no job; a page of 1 MB takes half of it. */
const MOST_CPU_MS = 30_000
const CHECK_EVERY_MS = 500
/** A bounded thread that has nothing to do is ended, for its memory. */
const IDLE_MS = 10_000

interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}

export interface WorkerThreadOptions extends Pick<WorkerOptions, 'workerData' | 'resourceLimits'> {
  /** Classes of errors that arrive as they were thrown in the thread; others arrive as `Error`, or as an error of the language. */
  readonly errors?: readonly ErrorClass[]
}

interface Call<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/** An error as a message carries it: its fields that are no objects. */
type ErrorFields = Readonly<Pick<Error, 'name' | 'message' | 'stack'>>

type Reply<Result> = { readonly result: Result } | { readonly error: ErrorFields }

/** Runs jobs in a thread of its own, one after another. A thread that has ended rejects what is under way, and every later job. */
export class WorkerThread<Job, Result> {
  readonly #worker: Worker
  readonly #errors: readonly ErrorClass[]
  /** In the order of their jobs, which is that of the replies. */
  readonly #calls: Call<Result>[] = []
  #failure: Error | undefined
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<Error>

  /** @param script of the thread, which calls `answerJobs`: its path from the project's root, without its ending. */
  constructor(script: string, { errors = [], ...options }: WorkerThreadOptions = {}) {
    this.#errors = errors
    const worker = new Worker(new URL(`${script}.js`, BUILD), options)
    this.#worker = worker
    worker.on('message', (reply: Reply<Result>) => {
      const call = this.#calls.shift()
      if ('result' in reply) call?.resolve(reply.result)
      else call?.reject(this.#errorOf(reply.error))
    })
    worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    this.ended = new Promise((resolve) => {
      worker.on('exit', (code) => {
        resolve(this.#end(new Error(`thread ${script} exited with code ${String(code)}`)))
      })
    })
  }

  /** Whether it takes no more jobs. */
  get hasEnded(): boolean {
    return this.#failure !== undefined
  }

  /**
   * Has the thread run a job.
   * @param transfer buffers of the job that are moved to the thread instead of copied.
   * @throws what the thread throws for this job; why the thread has ended, or ends before it has replied.
   */
  run(job: Job, transfer: readonly ArrayBuffer[] = []): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure
      this.#worker.postMessage(job, transfer)
      this.#calls.push({ resolve, reject })
    })
  }

  /** Sets whether the thread keeps the process alive. */
  holdProcess(holds: boolean): void {
    if (holds) this.#worker.ref()
    else this.#worker.unref()
  }

  /** Ends the thread, whatever it is doing. */
  async close(reason = new Error('closed')): Promise<void> {
    this.#end(reason)
    await this.#worker.terminate()
  }

  /** @returns the first reason that was given. */
  #end(reason: Error): Error {
    this.#failure ??= reason
    for (const { reject } of this.#calls.splice(0)) reject(this.#failure)
    return this.#failure
  }

  #errorOf(fields: ErrorFields): Error {
    const error = Object.assign(new Error(fields.message), fields)
    const known = [...this.#errors, ...PROGRAMMING_ERRORS].find(({ name }) => name === fields.name)
    return known === undefined ? error : (Object.setPrototypeOf(error, known.prototype) as Error)
  }
}

/** The thread's side: answers each job, one after another, with what the work returns or throws. */
export function answerJobs<Result>(
  work: (job: never) => Result | Promise<Result>,
  /** Buffers of a result that are moved instead of copied. */
  transfer: (result: Result) => readonly ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) throw new Error('this is a thread, not a process')
  let last = Promise.resolve()
  const answer = async (job: never): Promise<void> => {
    try {
      const result = await work(job)
      port.postMessage({ result } satisfies Reply<Result>, transfer(result))
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      const { name, message, stack } = error
      const plain = Object.entries(error).filter(([, value]) => Object(value) !== value)
      const fields = { ...Object.fromEntries(plain), name, message, stack: stack ?? '' }
      port.postMessage({ error: fields } satisfies Reply<Result>)
    }
  }
  port.on('message', (job) => {
    last = last.then(() => answer(job as never))
  })
}

/** A job would take more memory or time than any may have. */
export class TooMuch extends coded('HW_CONTENT_TOO_LARGE') {}

/** Runs jobs on what others wrote in a thread of bounded memory and time: a job that is too much ends the thread, and the next job starts another one. */
export class BoundedThread<Job, Result> {
  readonly #start: () => WorkerThread<Job, Result>
  #thread: WorkerThread<Job, Result> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param script and @param errors as those of a WorkerThread. */
  constructor(script: string, errors: readonly ErrorClass[] = []) {
    const resourceLimits = { maxOldGenerationSizeMb: MOST_HEAP_MB, maxYoungGenerationSizeMb: 8 }
    this.#start = () => new WorkerThread(script, { errors, resourceLimits })
  }

  /** Runs a job when those before it are done. @throws TooMuch; otherwise as a WorkerThread's `run`. */
  run(job: Job): Promise<Result> {
    const done = this.#last.then(() => this.#run(job))
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Rejects what is under way, and every later job. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#idle)
    void this.#thread?.close()
  }

  async #run(job: Job): Promise<Result> {
    if (this.#isClosed) throw new Error('closed')
    clearTimeout(this.#idle)
    if (this.#thread?.hasEnded !== false) this.#thread = this.#start()
    const thread = this.#thread
    // A process may end while its thread waits, and not while it works.
    thread.holdProcess(true)
    const before = process.cpuUsage()
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(before)
      if ((user + system) / 1000 > MOST_CPU_MS)
        void thread.close(new TooMuch('it takes too much time to read: split it'))
    }, CHECK_EVERY_MS)
    try {
      return await thread.run(job)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      throw new TooMuch('it takes too much memory: split it')
    } finally {
      clearInterval(timer)
      thread.holdProcess(false)
      this.#idle = setTimeout(() => void thread.close(), IDLE_MS).unref()
    }
  }
}
