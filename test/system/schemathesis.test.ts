import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { READS } from '../../services/explorer/core/reads/index.js'
import { Simnode } from '../../services/simnode/node.js'
import { tool } from '../deploy/tools.js'
import { Pipeline } from '../harness/pipeline.js'

const CONFIG = resolve(import.meta.dirname, '../../deploy/schemathesis.toml')
const TOKEN = 'sesame'
const IS_LONG = process.env['SCHEMATHESIS_REQUESTS'] !== undefined
/** The least number of requests; the long run has more. */
const REQUESTS = Number(process.env['SCHEMATHESIS_REQUESTS'] ?? 60)

const schemathesis = tool('schemathesis') ?? ''

if (schemathesis === '')
  console.warn(
    '\n!!! No schemathesis here: /openapi.json is NOT compared with the answers to arbitrary requests.\n',
  )

describe.skipIf(schemathesis === '')('requests that schemathesis makes from /openapi.json', () => {
  const node = new Simnode({ port: 0, blocks: 40, txsPerBlock: 4, blockIntervalMs: 0 })
  let pipeline: Pipeline
  let folder: string

  beforeAll(async () => {
    await node.start()
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    const explorer = { healthToken: TOKEN }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  /**
   * Runs schemathesis with all checks, which are on by default: an option would switch those on again that the file excludes. In one
   * thread, because Python's parser fails in several. It writes its own files into the current folder.
   */
  async function run(
    document: string,
    ...options: readonly string[]
  ): Promise<{ status: number | null; output: string }> {
    const args = [
      '--config-file',
      CONFIG,
      'run',
      document,
      '--no-color',
      '--header',
      `Authorization: Bearer ${TOKEN}`,
      ...options,
    ]
    const child = spawn(schemathesis, args, { cwd: folder })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    const [status] = (await once(child, 'close')) as [number | null]
    return { status, output }
  }

  // The long run takes eight minutes on an idle machine.
  const timeout = { timeout: IS_LONG ? 3_600_000 : 600_000 }
  it(`are answered as it says, in ${String(REQUESTS)} requests or more`, timeout, async () => {
    const perOperation = Math.ceil(REQUESTS / READS.length)
    // Coverage makes twenty times as many requests, and links between operations twice as many: both are part of the long run.
    const phases = IS_LONG ? [] : ['--phases', 'examples,fuzzing']
    const options = [...phases, '--max-examples', String(perOperation), '--continue-on-failure']
    const { status, output } = await run(`${pipeline.url}/openapi.json`, ...options)
    expect(status, output).toBe(0)
    expect(Number(/([\d,]+) generated/.exec(output)?.[1]?.replaceAll(',', ''))).toBeGreaterThanOrEqual(
      REQUESTS,
    )
  })

  it('are compared at all: an answer of another shape is found', async () => {
    const described = (await (await fetch(`${pipeline.url}/openapi.json`)).text()).replace(
      '"circulatingSupply":{',
      '"circulatingSupply":{"const":"7",',
    )
    const server = createServer((_, response) => response.end(described)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const only = ['--include-operation-id', 'supply', '--max-examples', '1', '--phases', 'examples,fuzzing']
    const options = ['--url', pipeline.url, ...only]
    const { status, output } = await run(`http://127.0.0.1:${String(port)}/openapi.json`, ...options)
    server.close()
    expect(status, output).toBe(1)
    expect(output).toContain('Response violates schema')
  })
})
