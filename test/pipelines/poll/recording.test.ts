import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { Poller } from '../../../pipelines/poll/poller.js'
import { startRecordedNode } from '../../../services/recorded-node/node.js'
import { readFrames, TIMELINE } from '../../harness/recording.js'
import { IS_WHOLE } from '../../harness/whole.js'
import { applyChain, mempoolFromLog } from './read-log.js'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

// In CI, test/system/recording.test.ts follows the same recording through the whole pipeline.
it.runIf(IS_WHOLE)(
  'a poller follows the recording of a real node, with its reorganisations and its mempool',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'headwater-recording-'))
    const log = await openEmbeddedLog(dir)
    const node = await startRecordedNode({ timeline: TIMELINE })
    const client = new NodeClient(node.url)
    const frames = readFrames()
    const chain: string[] = []
    let poller = new Poller({ node: client, log, pollIntervalMs: 1000, logger: quiet, inFlight: 4 })
    for (const [i, frame] of frames.entries()) {
      if (i > 0) node.step(1)
      for (const hash of frame.disconnected) expect(chain.pop()).toBe(hash)
      chain.push(...frame.connected.map(({ block }) => block.hash))
      const look = frame.type === 'reorg' || i % 60 === 59 || i === frames.length - 1
      if (!look && frames[i + 1]?.type !== 'reorg') continue
      if (i % 7 === 0)
        poller = new Poller({ node: client, log, pollIntervalMs: 1000, logger: quiet, inFlight: 4 })
      await poller.pollOnce()
      if (!look) continue
      const applied = await applyChain(log)
      expect(applied.chain).toEqual(chain)
      expect(applied.visible.at(-1)).toEqual(chain)
      expect(await mempoolFromLog(log)).toEqual(new Set(Object.keys(frame.mempool)))
    }
    client.close()
    await node.close()
    await log.close()
    rmSync(dir, { recursive: true, force: true })
  },
)
