import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { readPages } from '../content/pages.js'

const LABELS = fileURLToPath(new URL('../content/labels.jsonl', import.meta.url))
const POOLS = fileURLToPath(new URL('../../deploy/pools.json', import.meta.url))

/**
 * The state of the node that content/guide/simulated-nodes.md describes: before the last reorganisation, then at the
 * end.
 */
const FIRST_FRAME = 1858
const FRAMES_LEFT = 82

/** Values that depend on the time of the request: only their type is compared. */
const MOMENTARY = new Set(['lastReconciledAt', 'checkedAt', 'checks', 'uptime'])

interface Example {
  readonly page: string
  readonly path: string
  readonly shown: unknown
}

/** A request in a code block, and its answer in the next one. */
const EXAMPLE = /```sh\ncurl "?http:\/\/127\.0\.0\.1:8080(\/[^\s"]*)"?\n```\n\n```json\n([\s\S]*?)```/g

const pages = readPages()
const examples: Example[] = pages.flatMap(({ file, source }) =>
  [...source.matchAll(EXAMPLE)].map(([, path = '', json = '']) => {
    return { page: file, path, shown: JSON.parse(json) as unknown }
  }),
)

/** The same answer, with only the types of values that depend on the time. */
function lasting(value: unknown, name = ''): unknown {
  if (MOMENTARY.has(name))
    return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? 'time' : typeof value
  if (Array.isArray(value)) return value.map((each) => lasting(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, lasting(each, key)]))
}

describe('the examples of the documentation', () => {
  let pipeline: Pipeline
  let node: Awaited<ReturnType<typeof startRecordedNode>>

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: FIRST_FRAME })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { definitions: { labels: LABELS, pools: POOLS }, auditEveryMs: 200 },
    })
    await pipeline.level()
    node.step(FRAMES_LEFT)
    await pipeline.level()
    await until('the index is live and was audited', async () => {
      await beat()
      const { indexerStatus, audit } = (await getAnswer(`${pipeline.url}/health`)).body
      return indexerStatus === 'live' && audit.checkedAt !== null
    })
  })

  // A heartbeat that is five polls old would be reported as stalled.
  beforeEach(beat)

  async function beat(): Promise<void> {
    await pipeline.poll()
    await pipeline.materialize()
  }

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('exist on every page of an endpoint', () => {
    expect(node.frame()).toBe(node.frames - 1)
    const requests = pages.flatMap(({ source }) => [
      ...source.matchAll(/^curl "?http:\/\/127\.0\.0\.1:8080/gm),
    ])
    expect(examples).toHaveLength(requests.length)
    const silent = pages.filter(
      ({ file, source }) =>
        file.startsWith('explorer-api/') &&
        source.includes('`GET /') &&
        !examples.some(({ page }) => page === file),
    )
    expect(silent.map(({ file }) => file)).toEqual([])
  })

  it.each(examples)('$page: $path returns the answer on the page', async ({ path, shown }) => {
    const response = await fetch(`${pipeline.url}${path}`)
    expect(lasting(await response.json())).toEqual(lasting(shown))
  })
})
