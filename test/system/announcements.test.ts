import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { applyChain } from '../pipelines/poll/read-log.js'

/** Longer than any test: what is in the log after the first poll was announced. */
const HOUR = '3600000'

interface Publisher {
  readonly lastEndpoint: string
  bind(address: string): Promise<void>
  send(frames: readonly (string | Buffer)[]): Promise<void>
  close(): void
}

let folder: string
let node: Simnode
let poller: ServiceProcess | undefined
let log: EventLog | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-announcements-'))
  node = await startSimnode({ seed: 'announced', blocks: 3 })
})
afterEach(async () => {
  await poller?.kill()
  poller = undefined
  await log?.close()
  log = undefined
  await node.close()
  await rm(folder, { recursive: true, force: true })
})

const logFile = (): string => join(folder, 'poller.log')

/** Starts a poller, and waits until the node's history is in the log. */
async function start(settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const env = { DATA_DIR: folder, NODE_RPC_URL: node.url, POLL_INTERVAL_MS: HOUR, LOG_LEVEL: 'info' }
  poller = new ServiceProcess('poller', { ...env, ...settings }, logFile()).start()
  log = await openEmbeddedLog(join(folder, 'log'))
  await until('the history is in the log', isLevel)
  return poller
}

async function isLevel(): Promise<boolean> {
  return log !== undefined && (await applyChain(log)).chain.at(-1) === node.chain.tip.hash
}

describe('a poller process', () => {
  it('waits for blocks with one call, and stops during it', async () => {
    const process = await start({})
    for (let block = 0; block < 3; block++) {
      await until('it waits', () => node.tipWaits.size === 1)
      node.simulation.mine()
      await until('the block is in the log', isLevel)
    }
    await until('it waits again', () => node.tipWaits.size === 1)
    await process.kill('SIGTERM')
    expect(process.report()).toContain('exited with 0')
    // The node does not notice that the caller is gone.
    expect(node.tipWaits.size).toBe(1)
  })

  it('subscribes to the ZMQ publisher of NODE_ZMQ_URL', async () => {
    const { Publisher } = createRequire(import.meta.url)('zeromq') as { Publisher: new () => Publisher }
    const publisher = new Publisher()
    await publisher.bind('tcp://127.0.0.1:*')
    try {
      const settings = { NODE_ZMQ_URL: publisher.lastEndpoint, NODE_WAIT_FOR_BLOCKS: 'false' }
      const process = await start(settings)
      node.simulation.mine()
      await until('the block is in the log', async () => {
        await publisher.send(['hashblock', Buffer.from(node.chain.tip.hash, 'hex'), Buffer.alloc(4)])
        return isLevel()
      })
      expect(node.tipWaits.size).toBe(0)
      await process.kill('SIGTERM')
      expect(process.report()).toContain('exited with 0')
      expect(await readFile(logFile(), 'utf8')).toContain('ZMQ publisher of the node connected')
    } finally {
      publisher.close()
    }
  })
})
