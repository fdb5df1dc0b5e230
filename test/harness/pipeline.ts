import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { Poller } from '../../pipelines/poll/poller.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { mempoolDatabaseOf } from '../../pipelines/tables/mempool/tables.js'
import { createTables } from '../../pipelines/tables/schema-version.js'
import { type ExplorerOptions, startExplorer } from '../../services/explorer/host/explorer.js'
import { quickFolder } from './quick-folder.js'
import { writeMempoolHistory } from '../../services/materializer/history.js'
import { restoreTables } from './template.js'
import { PATIENT_DEADLINE_MS } from './processes.js'
import { until } from './until.js'

export interface Answer {
  readonly status: number
  readonly height: number
  readonly tip: string
  readonly headers: Headers
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read answers as a client would
  readonly body: any
}

export interface PipelineOptions {
  readonly nodeUrl: string
  readonly engineUrl: string
  readonly finalityDepth?: number
  readonly rankingTail?: number
  readonly listTail?: number
  /** False for an index that leaves the bodies of transactions to the node. */
  readonly hasBodies?: boolean
  /** The number of blocks that the log retains. Not set: all. */
  readonly logBlocks?: number
  /** The network of a node whose block 0 is of no known chain. */
  readonly chain?: string
  /** Additional parts of the explorer. */
  readonly explorer?: Partial<ExplorerOptions>
  /** Creates tables instead of copying those of the shared engine's template. */
  readonly prepare?: (db: Database) => Promise<void>
  /** True to write the history of the mempool, in the background. */
  readonly history?: boolean
  /** An existing log to read; by default the pipeline makes its own. */
  readonly log?: EventLog
}

let databases = 0

interface Level {
  readonly tip: string
  readonly mempoolSize?: number
  readonly poolFees?: bigint
}

/** Poller, materializer and explorer in one process, stepped by the test: they run only while `level` is called. */
export class Pipeline {
  readonly #folder: string
  readonly #abort = new AbortController()
  /** The running writer of the mempool's history. */
  #history: { readonly stop: AbortController; readonly running: Promise<void> } | undefined

  private constructor(
    readonly db: Database,
    readonly log: EventLog,
    readonly url: string,
    readonly name: string,
    readonly grpcAddress: string,
    /** The URL of Esplora's API; empty if it is off. */
    readonly esploraUrl: string,
    /** Host and port of the Electrum protocol; empty if it is off. */
    readonly electrumAddress: string,
    /** The same over TLS. */
    readonly electrumTlsAddress: string,
    folder: string,
    private poller: Poller,
    private materializer: Materializer,
    private readonly options: PipelineOptions,
    private readonly closeExplorer: () => Promise<void>,
  ) {
    this.#folder = folder
    if (options.history === true) this.#writeHistory()
  }

  #writeHistory(): void {
    const stop = new AbortController()
    const retention = {
      droppedHours: 1_000,
      droppedBytes: 1e12,
      firstSeenDays: 1_000,
      mempoolMinutesDays: 1_000,
      mempoolHoursDays: 1_000,
      expectedBlocksDays: 1_000,
    }
    const options = { configured: this.db, log: this.log, logger: loggerOf(), retention, flushMs: 10 }
    this.#history = {
      stop,
      running: writeMempoolHistory({ ...options, onFailure: () => undefined }, stop.signal),
    }
  }

  /** Starts a new writer of the mempool's history, as after a crash. */
  async restartHistory(): Promise<void> {
    this.#history?.stop.abort()
    await this.#history?.running
    this.#writeHistory()
  }

  /** The database of the mempool's history. */
  get historyDatabase(): string {
    return mempoolDatabaseOf(this.name)
  }

  static async start(options: PipelineOptions): Promise<Pipeline> {
    const folder = await quickFolder('headwater-')
    const log = options.log ?? (await openEmbeddedLog(join(folder, 'log')))
    const name = `t_${String(process.pid)}_${String(Date.now())}_${String(databases++)}`
    const db = new Database({ url: options.engineUrl, database: name })
    await (options.prepare ?? restoreTables)(db)
    await createTables(db)
    const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
    const explorer = await startExplorer({
      host: '127.0.0.1',
      port: 0,
      db,
      log,
      logger,
      rateLimitPerMinute: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
      locateNode: () => Promise.resolve(options.nodeUrl),
      ...options.explorer,
    })
    return new Pipeline(
      db,
      log,
      explorer.url,
      name,
      explorer.grpcAddress ?? '',
      explorer.esploraUrl ?? '',
      explorer.electrumAddress ?? '',
      explorer.electrumTlsAddress ?? '',
      folder,
      newPoller(options, log),
      newMaterializer(options, db, log),
      options,
      () => explorer.close(),
    )
  }

  /** Starts a new poller from the contents of the log, as after a crash. */
  restartPoller(): void {
    this.poller = newPoller(this.options, this.log)
  }

  restartMaterializer(): void {
    this.materializer = newMaterializer(this.options, this.db, this.log)
  }

  get fold(): Materializer {
    return this.materializer
  }

  async poll(): Promise<void> {
    await this.poller.pollOnce(this.#abort.signal)
  }

  async materialize(): Promise<void> {
    while (await this.materializer.step());
    await this.materializer.idle()
  }

  /**
   * Follows the node to its current state, and returns when the explorer shows that state and knows that it is the
   * newest.
   */
  async level(expected?: Level): Promise<void> {
    await this.poll()
    await this.materialize()
    const expect: Level = expected ?? { tip: (await latestHead(this.db))?.tipHash ?? '' }
    await until(`the explorer shows ${expect.tip}`, async () => {
      const summary = await this.get('/mempool/summary')
      if (summary.tip !== expect.tip) return false
      const { txCount, totalFees } = summary.body
      // A transaction may be replaced by one of the same size, which differs in its fees.
      if (expect.poolFees !== undefined && totalFees !== expect.poolFees.toString()) return false
      return expect.mempoolSize === undefined || txCount === expect.mempoolSize
    })
    // While the node is in its initial block download, no height is known to be the newest.
    const isKnown = async () => {
      const { status, body } = await this.get(`/block/${'ff'.repeat(32)}`)
      return status === 404 || (status === 503 && body.nodeHeight === body.indexedHeight)
    }
    await until('the explorer knows that it is up to date', isKnown)
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return getAnswer(`${this.url}/api/v1${path}`, headers)
  }

  async health(): Promise<Answer> {
    return getAnswer(`${this.url}/health`)
  }

  async close(): Promise<void> {
    this.#abort.abort()
    this.#history?.stop.abort()
    await this.#history?.running
    await this.closeExplorer()
    for (const name of [mempoolDatabaseOf(this.name), this.name])
      await this.db.command(`DROP DATABASE IF EXISTS ${name} SYNC`).catch(() => undefined)
    await this.db.close()
    if (this.options.log === undefined) await this.log.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Requests an answer. @param body that of a POST request. Not set: GET. */
export async function getAnswer(
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  // Tests compare answers by their ETag, and a compressed answer has a different one.
  const response = await fetch(url, {
    headers: { 'accept-encoding': 'identity', ...headers },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  const text = await response.text()
  return {
    status: response.status,
    height: Number(response.headers.get('x-chain-height')),
    tip: response.headers.get('x-chain-tip') ?? '',
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const loggerOf = () => pino({ level: process.env['TEST_LOG'] ?? 'silent' })

function newPoller(options: PipelineOptions, log: EventLog): Poller {
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const node = new NodeClient(options.nodeUrl, { timeoutMs: 10_000 })
  const { chain, logBlocks } = options
  return new Poller({ node, log, logger, chain, logBlocks, pollIntervalMs: 1000, inFlight: 4 })
}

function newMaterializer(options: PipelineOptions, db: Database, log: EventLog): Materializer {
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  return new Materializer({
    db,
    log,
    logger,
    finalityDepth: options.finalityDepth ?? 500,
    hasBodies: options.hasBodies,
    logBlocks: options.logBlocks,
    ...(options.rankingTail === undefined ? {} : { rankingTail: options.rankingTail }),
    ...(options.listTail === undefined ? {} : { listTail: options.listTail }),
  })
}
