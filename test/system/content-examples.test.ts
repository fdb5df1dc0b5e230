import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { pageExamples } from '../../deploy/api-examples.js'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { mempoolDatabaseOf } from '../../pipelines/tables/mempool/tables.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { writeHistory } from '../harness/journal.js'
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
/** The newest frames: a block, of which a transaction was expected, and the transactions after it. */
const LAST_FRAMES = 2

/** A frame with a transaction that the next one replaces. */
const REPLACED_FRAME = 1888

/** Values that depend on the time of the request: only their type is compared. */
const MOMENTARY = new Set(['lastReconciledAt', 'checkedAt', 'checks', 'uptime'])

/** A program that uses the client, and its output in the next block, if it ends by itself. */
const PROGRAM =
  /```js\n(import (?:(?!```)[\s\S])*headwater\/client(?:(?!```)[\s\S])*)```\n(?:\n```text\n([\s\S]*?)```)?/g

const ROOT = resolve(import.meta.dirname, '../..')
const pages = readPages()
const programs = pages.flatMap(({ file, source }) =>
  [...source.matchAll(PROGRAM)].map(([, code = '', output]) => ({ page: file, code, output })),
)
const examples = pages.flatMap(({ file, source }) =>
  pageExamples(source).map((each) => ({ ...each, page: file })),
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
  let log: EventLog
  let history: Database
  let folder: string
  let node: Awaited<ReturnType<typeof startRecordedNode>>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-examples-'))
    // Times of the log are part of answers.
    let clock = Date.parse('2026-09-17T07:25:10Z')
    log = await openEmbeddedLog(folder, { now: () => clock })
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: FIRST_FRAME })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      log,
      explorer: {
        definitions: { labels: LABELS, pools: POOLS },
        // The audits take the processor from the examples.
        auditEveryMs: 3_000,
        broadcast: true,
      },
    })
    await pipeline.level()
    node.step(REPLACED_FRAME - FIRST_FRAME)
    await pipeline.level()
    clock += 30_000
    node.step(FIRST_FRAME + FRAMES_LEFT - LAST_FRAMES - REPLACED_FRAME)
    await pipeline.level()
    clock += 30_000
    node.step(LAST_FRAMES)
    await pipeline.level()
    clock += 60_000
    await pipeline.level()
    history = new Database({ url: inject('engineUrl'), database: mempoolDatabaseOf(pipeline.name) })
    await writeHistory(history, log, REGTEST.name)
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
    await history.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('exist on every page of an endpoint', () => {
    expect(node.frame()).toBe(node.frames - 1)
    const requests = pages.flatMap(({ source }) => [
      ...source.matchAll(/^curl .*?http:\/\/127\.0\.0\.1:8080/gm),
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

  it.each(examples)('$page: $path returns the answer on the page', async ({ path, body, answer }) => {
    const request = body === undefined ? {} : { method: 'POST', body }
    const response = await fetch(`${pipeline.url}${path}`, request)
    expect(lasting(await response.json())).toEqual(lasting(answer))
  })

  /** Runs a program in the folder of the package, which it imports by its name. */
  async function run(code: string): Promise<{ status: number; output: string }> {
    const child = spawn(process.execPath, ['--input-type=module', '-'], { cwd: ROOT })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stdin.end(code.replaceAll('http://127.0.0.1:8080', pipeline.url))
    const [status] = (await once(child, 'close')) as [number]
    return { status, output }
  }

  it.each(programs.filter(({ output }) => output !== undefined))(
    '$page: a program prints what the page shows',
    async ({ code, output }) => {
      expect(await run(code)).toEqual({ status: 0, output })
    },
  )

  it('include programs that run until they are stopped', async () => {
    const endless = programs.filter(({ output }) => output === undefined)
    expect(endless.map(({ page }) => page)).toEqual(['explorer-api/websocket.md', 'guide/quickstart.md'])
    for (const { code } of endless) {
      const line = "for await (const event of explorer.events('blocks')) console.log(event)\n"
      expect(code).toContain(line)
      // The recorded chain has no further blocks: from a past one, and one event.
      const past = `import { WebSocket } from 'ws'\nglobalThis.WebSocket = WebSocket\n${code.replace(
        line,
        "for await (const event of explorer.events('blocks', { since: { blocks: 1566 } })) { console.log(event.seq); break }\n",
      )}`
      expect(await run(past)).toEqual({ status: 0, output: '1567\n' })
    }
  })
})
