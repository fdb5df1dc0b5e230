import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit, type AuditReport } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain } from '../../services/simnode/chain/sim-chain.js'
import { freePort } from '../../services/process/ports.js'
import { Pipeline } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { quickFolder } from '../harness/quick-folder.js'
import { readFrames, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { IS_WHOLE, sampledByKind } from '../harness/whole.js'

const logger = pino({ level: 'silent' })
/** The number of blocks and of scripts that an audit checks; fewer where a difference is in all of them. */
const [SAMPLE, SMALL_SAMPLE] = [IS_WHOLE ? 30 : 10, 3]
/** Their ids take more than the 131,072 characters that ClickHouse accepts for one parameter of a query. */
const MANY = 2_200

async function auditOf(
  pipeline: Pipeline,
  nodeUrl: string,
  checks = Object.keys(CHECKS),
  sample = SAMPLE,
): Promise<AuditReport> {
  const node = new NodeClient(nodeUrl, { maxAttempts: 3 })
  const { signal } = new AbortController()
  try {
    // The index and the node are at rest: a difference does not pass.
    return await audit(
      { db: pipeline.db, log: pipeline.log, node, logger, signal, patienceMs: 0 },
      {
        sample,
        seed: 'test',
        checks: Object.fromEntries(Object.entries(CHECKS).filter(([name]) => checks.includes(name))),
      },
    )
  } finally {
    node.close()
  }
}

/** The object of a difference, and the checks that report it. */
const named = (report: AuditReport): string =>
  report.checks
    .flatMap(({ name, differences }) =>
      differences.map(({ what, indexed, expected }) => `${name}: ${what}: ${indexed} / ${expected}`),
    )
    .join('\n')

describe('an audit of large blocks', () => {
  it.runIf(IS_WHOLE)(
    'finds nothing in a block of 2,200 transactions, of which one has as many inputs',
    async () => {
      const chain = buildChain({ seed: 'large', blocks: 3 })
      const owners = ['p2wpkh', 'p2pkh', 'p2tr'] as const
      const scripts = owners.map((type) => chain.keyring.ownerOf(type).script)
      const script = (at: number): Buffer => scripts[at % scripts.length] ?? Buffer.alloc(0)
      const paid = chain.mine({ coinbaseOutputs: [{ value: 3_000_000_000n, script: script(0) }] })
      const from = [{ txid: chain.read(paid).txs[0]?.txid ?? '', vout: 0 }]
      const many = Array.from({ length: MANY }, (_, at) => ({ value: 900_000n, script: script(at) }))
      const fanOut = chain.pay({ from, to: many, change: script(0) })
      chain.mine({ txs: [fanOut] })
      const singles = many.map((_, vout) =>
        chain.pay({ from: [{ tx: fanOut, vout }], to: [], change: script(vout + 1) }),
      )
      chain.mine({ txs: singles })
      const all = singles.map((tx) => ({ tx, vout: 0 }))
      chain.mine({ txs: [chain.pay({ from: all, to: [], change: script(0) })] })
      const node = await startSimnode({ chain })
      const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
      try {
        await pipeline.level()
        const { body } = await pipeline.get(`/block/${String(chain.tip.height - 1)}`)
        expect(body.tx_count).toBe(MANY + 1)
        const report = await auditOf(pipeline, node.url)
        expect(named(report)).toBe('')
        for (const { checked, name } of report.checks)
          if (name !== 'mempool') expect(checked, name).toBeGreaterThan(0)
        const replaced = await pipeline.get(`/tx/${singles[7]?.txid ?? ''}`)
        expect(replaced).toMatchObject({ status: 200, body: { block_height: chain.tip.height - 1 } })
      } finally {
        await pipeline.close()
        await node.close()
      }
    },
  )
})

describe('an audit of the recording', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: 1940 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 100 })
    await pipeline.level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('finds nothing in a sound index', async () => {
    const report = await auditOf(pipeline, node.url)
    expect(named(report)).toBe('')
    expect(report.checks.map(({ name }) => name)).toEqual(Object.keys(CHECKS))
    for (const { checked, name } of report.checks) expect(checked, name).toBeGreaterThan(0)
  })

  /** Rows are changed in place and restored, so that one index serves all tests. */
  const tamperings: readonly {
    readonly title: string
    readonly table: string
    readonly where: string
    /** Replaces a deletion. */
    readonly set?: string
    readonly found: RegExp
  }[] = [
    {
      title: 'a deleted output row',
      table: 'script_outputs',
      where:
        'spent = 0 AND height = 1550 AND (txid_prefix, vout) NOT IN (SELECT txid_prefix, vout FROM script_outputs WHERE spent = 1)',
      found: /^balances: balance of script \w{40} by its history/m,
    },
    {
      title: 'a deleted row of a spent output',
      table: 'script_outputs',
      where:
        'spent = 0 AND height = 110 AND (txid_prefix, vout) IN (SELECT txid_prefix, vout FROM script_outputs WHERE spent = 1)',
      found: /^balances: spent outputs of script \w{40} that nothing created/m,
    },
    {
      title: 'a changed amount of an output',
      table: 'script_outputs',
      where: 'spent = 0 AND height = 1200',
      set: 'value = value + 1',
      found: /^balances: (balance of|outputs of|supply)/m,
    },
    {
      title: 'a changed amount of a history',
      table: 'script_txs',
      where: 'height = 900',
      set: 'total_received = total_received + 1',
      found: /^balances: changes of script \w{40} by block 900/m,
    },
    {
      title: 'a wrong number of outputs of a script',
      table: 'script_txs',
      where: '1',
      set: 'funded_count = funded_count + 1',
      found: /^balances: outputs of script \w{40} that were ever created/m,
    },
    ...(
      [
        ['median_fee', 'medianFee'],
        ['utxo_size_increase', 'utxoSizeIncrease'],
      ] as const
    ).map(([column, name]) => ({
      title: `a wrong ${column}`,
      table: 'blocks',
      where: '1',
      set: `${column} = ${column} + 1`,
      found: new RegExp(`^blocks: ${name} of block \\d+: `, 'm'),
    })),
    ...(
      [
        ['type_values', /^blocks: value of pubkey of block \d+: /m],
        ['type_exposed', /^blocks: exposed value of pubkey of block \d+: /m],
        ['type_funded', /^balances: funded scripts by type of the tip: /m],
      ] as const
    ).map(([column, found]) => ({
      title: `a wrong ${column}`,
      table: 'blocks',
      where: '1',
      set: `${column} = arrayMap((each, at) -> each + if(at == 1, height, 0), ${column}, arrayEnumerate(${column}))`,
      found,
    })),
    {
      title: 'a changed supply',
      table: 'blocks',
      where: 'height = 1000',
      set: 'supply = supply - 1',
      found: /^balances: supply and unspent outputs after block 1000/m,
    },
    {
      title: 'a missing block',
      table: 'blocks',
      where: 'height = 800',
      found: /^chain: (blocks missing below 801|hash of block 800: missing)/m,
    },
    {
      title: 'a missing block near the tip',
      table: 'blocks',
      where: 'height = 1555',
      found: /^chain: hash of block 1555: missing/m,
    },
    {
      title: 'a wrong daily sum of fees',
      table: 'blocks',
      where: 'height = 1210',
      set: 'total_fees = total_fees + 1',
      found: /^days: fees of block 1210/m,
    },
    {
      title: 'a wrong daily sum of outputs',
      table: 'blocks',
      where: 'height = 1210',
      set: 'total_output = total_output - 1',
      found: /^days: output of block 1210/m,
    },
    {
      title: 'a wrong daily count',
      table: 'blocks',
      where: 'height = 1300',
      set: 'tx_count = tx_count + 1',
      found: /^days: transactions of \d{4}-\d\d-\d\d/m,
    },
    {
      title: 'a wrong count of active addresses',
      table: 'blocks',
      where: 'height = 1300',
      set: 'active_addresses = active_addresses + 1',
      found: /^days: active addresses of/m,
    },
    {
      title: 'outputs of other transactions of their blocks',
      table: 'script_outputs',
      where: 'spent = 0',
      set: 'tx_index = tx_index + 1',
      found: /^addresses: output \w{64}:\d+/m,
    },
    {
      title: 'spends by other transactions of their blocks',
      table: 'spends',
      where: '1',
      set: 'tx_index = tx_index + 1',
      found: /^blocks: spends of block \d+: /m,
    },
    {
      title: 'addresses that are not found by their beginning',
      table: 'address_order',
      where: '1',
      found: /^addresses: script \w+ among the addresses/m,
    },
    {
      title: 'wrong payouts',
      table: 'blocks',
      where: '1',
      set: "payouts = unhex('0151')",
      found: /^blocks: payouts of block/m,
    },
    {
      title: 'a missing transaction',
      table: 'block_txs',
      where: 'height = 650 AND tx_index = 0',
      found: /^days: transactions of/m,
    },
  ]

  it.each(sampledByKind(tamperings, 4, ({ found }) => /\w+/.exec(found.source)?.[0] ?? ''))(
    'finds $title',
    async ({ table, where, set, found }) => {
      const { db } = pipeline
      const condition = where.replaceAll('FROM script_outputs', 'FROM backup')
      await db.command(`CREATE TABLE backup AS ${table}`)
      await db.command(`INSERT INTO backup SELECT * FROM ${table}`)
      try {
        await db.command(`DELETE FROM ${table} WHERE ${condition}`)
        if (set !== undefined) {
          const [column = '', value = ''] = set.split(' = ')
          await db.command(
            `INSERT INTO ${table} SELECT * REPLACE (${value} AS ${column}) FROM backup WHERE ${condition}`,
          )
        }
        const [check = ''] = /\w+/.exec(found.source) ?? []
        const report = await auditOf(pipeline, node.url, [check], SMALL_SAMPLE)
        expect(report.differences).toBeGreaterThan(0)
        expect(named(report)).toMatch(found)
      } finally {
        await db.command(`TRUNCATE TABLE ${table}`)
        await db.command(`INSERT INTO ${table} SELECT * FROM backup`)
        await db.command('DROP TABLE backup SYNC')
      }
    },
  )

  it('finds nothing after everything was restored', async () => {
    expect(named(await auditOf(pipeline, node.url, ['chain', 'balances', 'days']))).toBe('')
  })
})

describe("the explorer's own audit", () => {
  it('is in /health and /metrics, without findings in a valid index, and finds a difference', async () => {
    const node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: 600 })
    const pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { auditEveryMs: 500 },
    })
    const reported = async (): Promise<{
      checkedAt: string | null
      checks: number
      differences: number
      error?: string
    }> => ((await (await fetch(`${pipeline.url}/health`)).json()) as { audit: never }).audit
    try {
      await pipeline.level()
      await until('two rounds were made', async () => (await reported()).checks >= 8)
      expect(await reported()).toMatchObject({
        differences: 0,
        checkedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      })
      await pipeline.db.command(
        'ALTER TABLE blocks UPDATE total_fees = total_fees + 1 WHERE 1 SETTINGS mutations_sync = 1',
      )
      await until('it was found', async () => (await reported()).differences > 0)
      expect(await (await fetch(`${pipeline.url}/metrics`)).text()).toMatch(
        /^headwater_audit_differences [1-9]/m,
      )
      await pipeline.db.command(
        'ALTER TABLE blocks UPDATE total_fees = total_fees - 1 WHERE 1 SETTINGS mutations_sync = 1',
      )
      await until('it is well again', async () => (await reported()).differences === 0)
      // The node advances without a poller: the mempool of the index is stale.
      const inMempool = readFrames().findIndex(({ mempoolinfo }, at) => at > 620 && mempoolinfo.size > 2)
      node.step(inMempool - 600)
      await until('it is behind', async () => (await reported()).differences > 0)
      await pipeline.level()
      await until('it is up again', async () => (await reported()).differences === 0)
      await node.close()
      await until('it says that it cannot', async () => (await reported()).error !== undefined)
    } finally {
      await pipeline.close()
      await node.close()
    }
  })
})

interface State {
  readonly height: number
  readonly hash: string
}

describe('the command', () => {
  let folder: string
  const started: ServiceProcess[] = []
  let node: Awaited<ReturnType<typeof startSimnode>>
  let poller: ServiceProcess
  let env: Record<string, string>
  let runs = 0

  const start = (name: string, args: readonly string[] = []): ServiceProcess => {
    const each = new ServiceProcess(name, env, join(folder, `${name}.log`), args)
    started.push(each)
    return each.start()
  }

  beforeAll(async () => {
    folder = await quickFolder('headwater-audit-')
    node = await startSimnode({ seed: 'audit', blocks: 120, txsPerBlock: 6, blockIntervalMs: 0 })
    env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      POLL_INTERVAL_MS: '100',
      EXPLORER_PORT: String(await freePort()),
      EXPLORER_GRPC_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '0',
    }
    start('engine')
    poller = start('poller')
    start('materializer')
    start('explorer')
    await until('all is indexed', async () => (await shown()).height === 120)
  })
  afterAll(async () => {
    for (const each of started.reverse()) await each.kill('SIGTERM')
    await node.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  const shown = async (): Promise<State> => {
    const answer = await fetch(`http://127.0.0.1:${env['EXPLORER_PORT'] ?? ''}/api/v1/blocks/tip`)
    return (await answer.json()) as State
  }

  async function run(...args: string[]): Promise<{ status: number; output: string; errors: string }> {
    const { spawn } = await import('node:child_process')
    const child = spawn(process.execPath, ['dist/services/audit/main.js', ...args], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
    })
    runs++
    let [output, errors] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
    const status = await new Promise<number>((resolve) =>
      child.on('close', (code) => {
        resolve(code ?? -1)
      }),
    )
    return { status, output, errors }
  }

  const control = (path: string): Promise<Response> =>
    fetch(`${new URL(node.url).origin}/control/${path}`, { method: 'POST' })

  it('finds nothing during new blocks and reorganisations, and says so', async () => {
    let stopped = false
    const mining = (async () => {
      for (let count = 0; !stopped; count++) {
        const { hash } = (await (await control(count % 3 === 2 ? 'reorg?depth=2' : 'mine')).json()) as State
        // The next block as soon as one is shown, so that the audit meets as many as possible.
        await until('it is shown', async () => (await shown()).hash === hash)
      }
    })()
    const { status, output } = await run('--node', node.url, '--json', '--sample', '20')
    stopped = true
    await mining
    const report = JSON.parse(output) as AuditReport
    expect(named(report)).toBe('')
    expect(status).toBe(0)
  })

  it('finds a stale mempool, and exits with status 1', async () => {
    await poller.kill('SIGTERM')
    expect((await control('pool?enter=40')).ok).toBe(true)
    const { status, output } = await run('--check', 'mempool', '--patience', '1')
    expect(output).toMatch(/FAIL mempool/)
    // Each of them, for any number.
    expect(output.match(/fee of unconfirmed \w{64}: indexed missing, expected \d+/g)?.length).toBeGreaterThan(
      30,
    )
    expect(status).toBe(1)
  })

  it('reports the differences if the node follows another, shorter branch from block 1 on, and exits with status 1', async () => {
    const other = await startSimnode({ seed: 'other', blocks: 40 })
    try {
      const checks = ['tip', 'chain', 'blocks', 'days'].flatMap((name) => ['--check', name])
      const patience = ['--patience', '1']
      const { status, output } = await run('--node', other.url, '--sample', '5', ...patience, ...checks)
      expect(output).toMatch(/FAIL tip/)
      expect(output).toMatch(/height of the tip: indexed \d{3}, expected 40/)
      expect(output).toMatch(/blocks above the tip of the node: indexed \d+, expected 0/)
      for (const height of [1, 20, 40])
        expect(output).toMatch(
          new RegExp(`hash of block ${String(height)}: indexed \\w{64}, expected \\w{64}`),
        )
      expect(output).toMatch(
        /FAIL blocks[^]*a block requested from the node: indexed present, expected the node answered/,
      )
      expect(status).toBe(1)
    } finally {
      await other.close()
    }
  })

  it('exits with status 2 and prints one line if it cannot run', async () => {
    const unavailable = await run('--node', 'http://u:p@127.0.0.1:1')
    expect(unavailable).toMatchObject({ status: 2, output: '' })
    expect(unavailable.errors.trim().split('\n').at(-1)).toMatch(/^audit: /)
    for (const option of ['--sample', '--patience'])
      expect(await run(option, 'x')).toMatchObject({ status: 2, output: '' })
    expect(await run('--check', 'constructor')).toMatchObject({ status: 2 })
    expect((await run('--help')).output).toContain('--node URL')
    expect(runs).toBeGreaterThan(4)
  })
})
