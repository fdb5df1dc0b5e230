import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { BoundedThread, ContentTooLarge, WorkerThread } from '../../pipelines/worker-thread.js'

/** The jobs of the thread of these tests; a number is returned. */
type Job = number | 'wait' | 'throw' | 'type error' | 'text' | 'exit' | 'crash' | 'spin' | 'fill' | Uint8Array

const BUILT = pathToFileURL(resolve(import.meta.dirname, '../../dist/pipelines/worker-thread.js')).href
const THREAD = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { answerJobs } from '${BUILT}'
  class Refusal extends Error { name = 'Refusal'; place = 7; node = { print() {} } }
  answerJobs(async (job) => {
    if (job instanceof Uint8Array) return job
    if (job === 'wait') await sleep(50)
    if (job === 'throw') throw new Refusal('not this', { cause: () => 0 })
    if (job === 'type error') throw new TypeError('no such type')
    if (job === 'text') throw 'a text'
    if (job === 'exit') process.exit(3)
    if (job === 'crash') { setImmediate(() => { throw new Error('crashed') }); await sleep(60_000) }
    if (job === 'spin') for (;;);
    if (job === 'fill') for (const all = []; ;) all.push(new Array(1_000).fill(0.5 + all.length))
    return job
  }, (result) => result instanceof Uint8Array ? [result.buffer] : [])`

class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly place = 0
}

let folder: string
let script: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-thread-'))
  script = pathToFileURL(join(folder, 'thread')).href
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'thread.js'), THREAD)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

afterEach(() => vi.restoreAllMocks())

describe('a worker thread', () => {
  let thread: WorkerThread<Job, unknown>

  const start = (): WorkerThread<Job, unknown> => {
    thread = new WorkerThread(script, { errors: [Refusal] })
    return thread
  }
  afterEach(() => thread.close())

  it('replies to each job in order, and transfers buffers in both directions', async () => {
    const { length } = new Uint8Array(8)
    const moved = new Uint8Array(length).fill(9)
    const jobs = [start().run('wait'), thread.run(1), thread.run(2), thread.run(moved, [moved.buffer])]
    expect(await Promise.all(jobs)).toEqual(['wait', 1, 2, new Uint8Array(length).fill(9)])
    expect(moved).toHaveLength(0)
  })

  it('throws the error of a job with its class, and continues', async () => {
    const refusal = await start()
      .run('throw')
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(Refusal)
    expect(refusal).toMatchObject({ message: 'not this', place: 7 })
    expect((refusal as Error).stack).toContain('thread.js')
    await expect(thread.run('type error')).rejects.toThrow(TypeError)
    await expect(thread.run('text')).rejects.toThrow('a text')
    expect(await thread.run(5)).toBe(5)
  })

  it.each([
    ['exits', 'exit', 'exited with code 3'],
    ['crashes', 'crash', 'crashed'],
  ] as const)('that %s rejects pending and later jobs', async (_, job, reason) => {
    const jobs = [start().run(job), thread.run(1)]
    for (const each of jobs) await expect(each).rejects.toThrow(reason)
    expect((await thread.ended).message).toContain(reason)
    await expect(thread.run(2)).rejects.toThrow(reason)
  })

  it('rejects them after it was closed too, whatever it was doing', async () => {
    const job = start().run('spin')
    const [rejected] = await Promise.allSettled([job, thread.close(new Error('no longer needed'))])
    expect(rejected).toMatchObject({ reason: { message: 'no longer needed' } })
    expect(thread.hasEnded).toBe(true)
    await expect(thread.run(1)).rejects.toThrow('no longer needed')
  })

  it('rejects its jobs if it cannot be started', async () => {
    thread = new WorkerThread(`${script}-missing`)
    await expect(thread.run(1)).rejects.toThrow('Cannot find module')
  })
})

describe('a bounded thread', () => {
  let thread: BoundedThread<Job, unknown>

  const start = (): BoundedThread<Job, unknown> => {
    thread = new BoundedThread(script, [Refusal])
    return thread
  }
  afterEach(() => {
    thread.close()
  })

  it('starts again after its death, also for jobs that already wait', async () => {
    const jobs = [start().run('exit'), thread.run(1), thread.run('throw'), thread.run(2)]
    const outcomes = await Promise.allSettled(jobs)
    expect(outcomes).toMatchObject([
      { reason: { message: expect.stringContaining('exited with code 3') } },
      { value: 1 },
      { reason: { name: 'Refusal' } },
      { value: 2 },
    ])
    expect(await thread.run(3)).toBe(3)
  })

  it('ends a job that uses too much memory, and runs the next', async () => {
    await expect(start().run('fill')).rejects.toThrow(ContentTooLarge)
    expect(await thread.run(1)).toBe(1)
  })

  it('ends a job that takes too much time, and runs the next', async () => {
    let user = 0
    vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: (user += 20_000_000), system: 0 }))
    await expect(start().run('spin')).rejects.toThrow('too much time')
    vi.restoreAllMocks()
    expect(await thread.run(1)).toBe(1)
  })

  it('runs no more jobs after it was closed', async () => {
    const jobs = [start().run('spin'), thread.run(1)]
    await new Promise((begun) => setTimeout(begun, 20))
    thread.close()
    for (const each of jobs) await expect(each).rejects.toThrow('closed')
  })
})
