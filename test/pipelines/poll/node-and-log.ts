import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { Poller, type PollerOptions } from '../../../pipelines/poll/poller.js'
import { grow } from './fake-chain.js'
import { FakeNode } from './fake-node.js'

export const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** The node and log of the current test: see `useNodeAndLog`. */
export let log: EventLog
export let node: FakeNode
export let client: NodeClient

/** Gives each test of a file an empty log, and a node with block 0. */
export function useNodeAndLog(timeoutMs = 10_000): void {
  let dir = ''
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'headwater-poll-'))
    log = await openEmbeddedLog(dir)
    node = await FakeNode.start(grow([], 1))
    client = new NodeClient(node.url, { timeoutMs, backoff: { firstMs: 5, maxMs: 40 } })
  })
  afterEach(async () => {
    client.close()
    await node.close()
    await log.close()
    rmSync(dir, { recursive: true, force: true })
  })
}

/** Returns a poller of the chain of the tests, whose block 0 is of no known network. */
export function newPoller(options: Partial<PollerOptions> = {}): Poller {
  const chain = 'btq-regtest'
  return new Poller({
    node: client,
    log,
    chain,
    pollIntervalMs: 1000,
    logger: quiet,
    inFlight: 4,
    ...options,
  })
}
