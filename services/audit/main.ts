import { parseArgs } from 'node:util'
import { audit, type AuditReport } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { assertOneChain, assertSame, chainOfTables } from '../../pipelines/materialize/one-chain.js'
import { StartRefused, UsageError } from '../../pipelines/errors.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { identityOf } from '../../pipelines/node/recognition.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { servingDatabase } from '../../pipelines/tables/serving.js'
import { loadConfig } from '../config.js'
import { presentEngineUrl, presentNodeUrl } from '../process/discovery.js'
import { openEventLog } from '../process/event-log.js'
import { runCommand } from '../process/lifecycle.js'
import { createLogger } from '../process/logger.js'
import { Progress } from '../process/progress.js'

const USAGE = `npm run audit -- [options]
Compares the index with the node. Exit status: 0 no difference, 1 differences, 2 the audit could not be made.
  --node URL      http://user:password@host:port (default NODE_RPC_URL, or the simulated node of this DATA_DIR)
  --json          prints the report as JSON
  --sample N      number of addresses and of blocks that are checked one by one (default 200)
  --patience S    seconds for which tip and mempool, which change all the time, may differ (default 10)
  --seed TEXT     selects the sample (default: random; the report contains it)
  --check NAME    runs only this check (may be repeated): ${Object.keys(CHECKS).join(', ')}`

await runCommand('audit', main, () => 2)

async function main(): Promise<number> {
  const options = { node: { type: 'string' }, json: { type: 'boolean' }, sample: { type: 'string' } } as const
  const { values } = parseArgs({
    options: {
      ...options,
      patience: { type: 'string' },
      seed: { type: 'string' },
      check: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const sample = Number(values.sample ?? 200)
  if (!Number.isInteger(sample) || sample < 1 || sample > 100_000)
    throw new UsageError('--sample must be an integer from 1 to 100000')
  const patience = Number(values.patience ?? 10)
  if (!(patience >= 0 && patience <= 3600)) throw new UsageError('--patience must be a number from 0 to 3600')
  const names = values.check ?? Object.keys(CHECKS)
  const unknown = names.find((name) => !Object.hasOwn(CHECKS, name))
  if (unknown !== undefined)
    throw new UsageError(`--check must be one of ${Object.keys(CHECKS).join(', ')}, got '${unknown}'`)
  const checks = Object.fromEntries(Object.entries(CHECKS).filter(([name]) => names.includes(name)))
  const progress = new Progress(process.stderr)
  const report = await run({
    nodeUrl: values.node,
    patienceMs: patience * 1000,
    options: { sample, seed: values.seed ?? String(Date.now()), checks, progress: progress.step },
  })
  progress.end()
  process.stdout.write(values.json === true ? `${JSON.stringify(report)}\n` : asText(report))
  return report.differences === 0 ? 0 : 1
}

async function run(options: {
  readonly nodeUrl: string | undefined
  readonly patienceMs: number
  readonly options: Parameters<typeof audit>[1]
}): Promise<AuditReport> {
  const config = loadConfig()
  const logger = createLogger('audit', 'warn')
  const nodeUrl = options.nodeUrl ?? (await presentNodeUrl(config))
  if (nodeUrl === undefined)
    throw new StartRefused('no node is configured: pass --node URL, or set NODE_RPC_URL')
  if (!URL.canParse(nodeUrl)) throw new UsageError('--node must be a URL, http://user:password@host:port')
  const url = await presentEngineUrl(config)
  if (url === undefined)
    throw new StartRefused('no database: start the engine on this DATA_DIR, or set CLICKHOUSE_URL')
  const configured = new Database({ url, database: config.clickhouseDatabase, timeoutMs: 600_000 })
  const db = configured.sibling(await servingDatabase(configured))
  const node = new NodeClient(nodeUrl, { maxAttempts: 3, timeoutMs: 120_000 })
  const log = await openEventLog(config, logger)
  const { signal } = new AbortController()
  try {
    await assertOneChain({ db, log }, config.chain)
    const { network, genesisHash } = await identityOf(node, await node.chainInfo(), config.chain)
    assertSame(await chainOfTables(db), {
      where: `the node at ${node.address}`,
      name: network.name,
      genesisHash,
    })
    const { patienceMs } = options
    return await audit({ db, log, node, logger, signal, patienceMs }, options.options)
  } finally {
    node.close()
    await Promise.all([configured.close(), db.close(), log.close()])
  }
}

function asText({ tip, seed, checks, differences }: AuditReport): string {
  const lines = checks.flatMap(({ name, checked, differences: first, unnamed }) => [
    `${first.length === 0 ? 'ok  ' : 'FAIL'} ${name} (${String(checked)} checked)`,
    ...first.map(({ what, indexed, expected }) => `     ${what}: indexed ${indexed}, expected ${expected}`),
    ...(unnamed === 0 ? [] : [`     and ${String(unnamed)} more`]),
  ])
  const state = `at block ${String(tip.height)} ${tip.hash}, seed ${seed}`
  const last = differences === 0 ? `no difference ${state}` : `${String(differences)} differences ${state}`
  return `${[...lines, last].join('\n')}\n`
}
