import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { buildChain, type SimChain } from '../../../services/simnode/chain/sim-chain.js'
import { Pipeline } from '../../harness/pipeline.js'
import { until } from '../../harness/until.js'

/** A log that can be made unavailable: every call fails meanwhile. */
class FickleLog {
  isUnavailable = false
  refused = 0

  over(log: EventLog): EventLog {
    const call = (name: string | symbol, args: unknown[]): unknown => {
      if (this.isUnavailable && name !== 'close') {
        this.refused++
        return Promise.reject(new Error('the log is unavailable'))
      }
      return (log as unknown as Record<string | symbol, (...given: unknown[]) => unknown>)[name]?.(...args)
    }
    return new Proxy(log, {
      get: (_, name) => (name === 'then' ? undefined : (...args: unknown[]) => call(name, args)),
    })
  }
}

describe('an explorer whose log and node become unavailable', () => {
  const fickle = new FickleLog()
  let folder: string
  let log: EventLog
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    chain = buildChain({ seed: 'away', blocks: 12 })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      log: fickle.over(log),
    })
    await pipeline.level({ tip: chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('answers as before, also metrics, retries, and continues when the log is available again', async () => {
    fickle.isUnavailable = true
    await until('the explorer has felt it', () => fickle.refused > 3)
    for (const path of [
      '/stats/summary',
      '/blocks',
      '/stats/richlist',
      '/mempool/txs',
      `/block/${chain.tip.hash}/txs`,
    ]) {
      expect((await pipeline.get(path)).status, path).toBe(200)
    }
    for (const path of ['/health', '/metrics'])
      expect((await fetch(pipeline.url + path)).status, path).toBe(200)
    const foot = async () => (await fetch(`${pipeline.url}/_explorer/condition?lang=de`)).text()
    await until('the pages name the log', async () => (await foot()).includes('Das Log ist nicht erreichbar'))
    const mined = chain.mine({})
    // None of these comes from a failed call to the log: it is still unavailable.
    const { refused } = fickle
    await until('the explorer tries again', () => fickle.refused > refused)
    fickle.isUnavailable = false
    await pipeline.level({ tip: mined.hash })
    await until('the pages do not name it any more', async () => !(await foot()).includes('Das Log'))
  })

  it('answers 503 for node health while the node is unavailable, and serves everything else', async () => {
    await node.close()
    const { body } = await until('the last answer of the node is not repeated any more', async () => {
      const answer = await pipeline.get('/node/health')
      return answer.status === 503 && answer
    })
    expect(body).toMatchObject({ error: 'Node unavailable' })
    expect((await pipeline.get('/stats/summary')).status).toBe(200)
    expect((await pipeline.get('/blocks')).status).toBe(200)
  })
})
