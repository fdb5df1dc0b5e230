import { parentPort, Worker, type WorkerOptions } from 'node:worker_threads'
import { coded, PROGRAMMING_ERRORS } from './errors.js'

/** The folder of the build. Threads always run built scripts, even if this module runs from its sources, as in tests. */
const BUILD = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : '../', import.meta.url)

/** The maximum heap of a bounded thread, in MB; a page of 300 KB takes half of it. */
const MAX_HEAP_MB = 192
/**
 * The maximum CPU time of this process during a bounded job, in milliseconds. Elapsed time would fail jobs on a busy machine. A page
 * of 1 MB takes half of it.
 */
const MAX_CPU_MS = 30_000
const CHECK_EVERY_MS = 500
/** The time after which an idle bounded thread is stopped to free its memory. */
const IDLE_MS = 10_000

interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}

export interface WorkerThreadOptions extends Pick<WorkerOptions, 'workerData' | 'resourceLimits'> {
  /** Classes of errors that keep their class when the thread throws them, besides those of JavaScript. Other errors become `Error`. */
  readonly errors?: readonly ErrorClass[]
}

interface Call<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/** An error in a message: its fields that are not objects. */
type ErrorFields = Readonly<Pick<Error, 'name' | 'message' | 'stack'>>

type Reply<Result> = { readonly result: Result } | { readonly error: ErrorFields }

/** A thread that runs jobs, one after another. When it has ended, pending and later jobs are rejected. */
export class WorkerThread<Job, Result> {
  readonly #worker: Worker
  readonly #errors: readonly ErrorClass[]
  /** Pending calls in the order of their jobs, which is also the order of the replies. */
  readonly #calls: Call<Result>[] = []
  #failure: Error | undefined
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<Error>

  /** @param script of the thread, which calls `answerJobs`: its path from the project's root, without extension. */
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

  /** True if the thread has ended. */
  get hasEnded(): boolean {
    return this.#failure !== undefined
  }

  /**
   * Runs a job in the thread.
   * @param transfer buffers of the job that are moved to the thread instead of copied.
   * @throws the error of the job; the reason if the thread has ended, or ends before it replies.
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

  /** Stops the thread immediately. @param reason for which pending jobs are rejected. */
  async close(reason = new Error('closed')): Promise<void> {
    this.#end(reason)
    await this.#worker.terminate()
  }

  /** Rejects all jobs. @returns the first reason for which the thread ended. */
  #end(reason: Error): Error {
    this.#failure ??= reason
    for (const { reject } of this.#calls.splice(0)) reject(this.#failure)
    return this.#failure
  }

  #errorOf(fields: ErrorFields): Error {
    const error = Object.assign(new Error(fields.message), fields)
    const type = [...this.#errors, ...PROGRAMMING_ERRORS].find(({ name }) => name === fields.name)
    return type === undefined ? error : (Object.setPrototypeOf(error, type.prototype) as Error)
  }
}

/** Handles jobs in the thread, one after another: replies to each with the result or the error of `work`. */
export function answerJobs<Result>(
  work: (job: never) => Result | Promise<Result>,
  /** Returns the buffers of a result that are moved instead of copied. */
  transfer: (result: Result) => readonly ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) throw new Error('answerJobs must be called in a worker thread')
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

/** Thrown if a job exceeds the limits of memory or time. */
export class ContentTooLarge extends coded('HW_CONTENT_TOO_LARGE') {}

/**
 * A thread of bounded memory and time for jobs on untrusted content. A job that exceeds the limits ends the thread, and the next
 * job starts another one.
 */
export class BoundedThread<Job, Result> {
  readonly #start: () => WorkerThread<Job, Result>
  #thread: WorkerThread<Job, Result> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param script @param errors as for `WorkerThread`. */
  constructor(script: string, errors: readonly ErrorClass[] = []) {
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 8 }
    this.#start = () => new WorkerThread(script, { errors, resourceLimits })
  }

  /** Runs a job after the previous ones. @throws ContentTooLarge; otherwise as `WorkerThread.run`. */
  run(job: Job): Promise<Result> {
    const done = this.#last.then(() => this.#run(job))
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Stops the thread. Pending and later jobs are rejected. */
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
    // The thread keeps the process alive only during a job.
    thread.holdProcess(true)
    const before = process.cpuUsage()
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(before)
      if ((user + system) / 1000 > MAX_CPU_MS)
        void thread.close(new ContentTooLarge('it takes too much time to read: split it'))
    }, CHECK_EVERY_MS)
    try {
      return await thread.run(job)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      throw new ContentTooLarge('it takes too much memory: split it')
    } finally {
      clearInterval(timer)
      thread.holdProcess(false)
      this.#idle = setTimeout(() => void thread.close(), IDLE_MS).unref()
    }
  }
}
