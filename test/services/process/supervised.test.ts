import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EXIT_REFUSED } from '../../../services/process/lifecycle.js'
import { createLogger } from '../../../services/process/logger.js'
import { launchScript, Supervised } from '../../../services/process/supervised.js'
import { until } from '../../harness/until.js'

const FIRST_PAUSE_MS = 20

describe('a supervised process', () => {
  let folder = ''
  let service: Supervised | undefined
  const refusals: string[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-start-'))
    refusals.length = 0
  })

  afterEach(async () => {
    vi.useRealTimers()
    await service?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(body: string): Promise<Supervised> {
    const script = join(folder, 'service.mjs')
    const noteStart = `import { appendFileSync } from 'node:fs'; appendFileSync(${JSON.stringify(join(folder, 'starts'))}, 'x')\n`
    await writeFile(script, noteStart + body)
    service = new Supervised({
      name: 'sample',
      launch: () => launchScript({ script, env: {} }),
      stopDeadlineMs: 5000,
      firstPauseMs: FIRST_PAUSE_MS,
      logger: createLogger('test', 'silent'),
      onRefused: (name) => refusals.push(name),
    })
    service.start()
    return service
  }

  const starts = async (): Promise<number> =>
    (await readFile(join(folder, 'starts'), 'utf8').catch(() => '')).length

  it('is started again when it dies, by itself or killed', async () => {
    const running = await start('setInterval(() => 0, 1000)')
    for (const nth of [1, 2, 3]) {
      await until(`start ${String(nth)}`, async () => (await starts()) === nth && running.pid !== undefined)
      if (nth < 3) process.kill(running.pid ?? 0, 'SIGKILL')
    }
  })

  it('is not started again if its status says that this would not help', async () => {
    const running = await start(`process.exit(${String(EXIT_REFUSED)})`)
    await until('the refusal', () => refusals.length === 1)
    expect(refusals).toEqual(['sample'])
    expect(running.pid).toBeUndefined()
    expect(await starts()).toBe(1)
  })

  it('is killed when it does not stop in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const note = (name: string): string => `appendFileSync(${JSON.stringify(join(folder, name))}, '')`
    const isNoted = (name: string) => () => stat(join(folder, name)).then(() => true)
    const running = await start(
      `process.on('SIGTERM', () => ${note('stopping')}); setInterval(() => 0, 1000); ${note('ready')}`,
    )
    await until('it is ready', isNoted('ready'))
    const stopping = running.stop()
    await until('it gets the signal to stop', isNoted('stopping'))
    vi.advanceTimersByTime(4999)
    expect(running.pid).toBeDefined()
    vi.advanceTimersByTime(1)
    await stopping
    expect(running.pid).toBeUndefined()
    expect(await starts()).toBe(1)
  })

  it("is not started again if it is stopped during a restart's pause", async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = await start('process.exit(1)')
    await until('a pending restart', () => running.pid === undefined && vi.getTimerCount() === 1)
    await running.stop()
    vi.advanceTimersByTime(60_000)
    expect(running.pid).toBeUndefined()
    expect(await starts()).toBe(1)
  })

  it('is started again when its pause is over, and not before', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = await start('process.exit(1)')
    await until('a pending restart', () => running.pid === undefined && vi.getTimerCount() === 1)
    vi.advanceTimersByTime(FIRST_PAUSE_MS - 1)
    expect(running.pid).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(running.pid).toBeDefined()
  })
})
