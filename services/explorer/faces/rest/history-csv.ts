import { isoTime } from '../../../../pipelines/chain/time.js'
import type { BlockId } from '../../../../pipelines/chain/block.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { OVERLOADED } from '../../core/answering/failure.js'
import type { Core } from '../../core/core.js'
import type { ShownTx } from '../../core/mempool/shown-tx.js'
import { address as addressArgument, parseArguments } from '../../core/reads/arguments.js'
import {
  changeOf,
  lastOfScript,
  locatedOf,
  pageOfScript,
  requestedScript,
  type ScriptChange,
} from '../../core/reads/script.js'
import type { ReadContext } from '../../core/reads/read.js'
import { Cancellation } from '../../core/tables/cancellation.js'
import { API, chainHeaders, failedAsJson, GET, NO_STORE } from '../../http/answer.js'
import { argumentsOfUrl } from '../../http/arguments.js'
import type { HandlerRoute } from '../face.js'

/** The declaration of the history of an address as a file. It is not a read: its answer is streamed, and not kept. */
export const addressHistoryCsv = {
  name: 'addressHistoryCsv',
  about: 'The complete history of an address as CSV, oldest first, unconfirmed transactions last.',
  path: '/address/:address/txs.csv',
  args: { address: addressArgument },
} as const

/** The maximum number of files that are sent concurrently. */
const MAX_EXPORTS = 16
const CSV_TYPE = ['content-type', 'text/csv; charset=utf-8'] as const
/** The number of transactions that are read at once: fewer than a batch of lookups. */
const ROWS_AT_ONCE = 200
const HEADER = 'txid,block_height,tx_index,timestamp,value_change,balance\r\n'

/** A file that has been begun. */
export interface CsvExport {
  readonly isEmpty: boolean
  /** The parts of the file. Each part is made when the previous part has been sent. */
  readonly parts: AsyncGenerator<string>
}

/** Returns the route of the file. */
export function historyRoute({ reader, defect }: Core): HandlerRoute {
  let underWay = 0
  async function* counted(parts: AsyncGenerator<string>): AsyncGenerator<string> {
    underWay++
    try {
      yield* parts
    } catch (error) {
      defect(error, addressHistoryCsv.path)
      throw error
    } finally {
      underWay--
    }
  }
  const handle: HandlerRoute['handle'] = async (request, params) => {
    if (underWay >= MAX_EXPORTS) return failedAsJson(OVERLOADED)
    const cancellation = new Cancellation()
    request.onDisconnect(() => {
      cancellation.abort(new DatabaseUnavailable('the client has disconnected'))
    })
    const argument = argumentsOfUrl(params, '')
    const { address } = parseArguments(addressHistoryCsv.args, argument) as { address: string }
    const context = await reader.begin(request.minChainHeight, cancellation)
    if ('code' in context) return failedAsJson(context)
    const { chain } = context
    const { isEmpty, parts } = await beginHistoryCsv(context, address, (block) => reader.isOnChain(block))
    const behind = isEmpty ? reader.ifBehind(chain) : undefined
    if (behind !== undefined) return failedAsJson(behind)
    const name = ['content-disposition', `attachment; filename="${address}.csv"`] as const
    const headers = [CSV_TYPE, name, NO_STORE, ...chainHeaders(chain)]
    return { status: 200, headers, body: Buffer.alloc(0), parts: counted(parts) }
  }
  return { pattern: API + addressHistoryCsv.path, methods: GET, isLimited: true, handle }
}

/**
 * Begins the history of an address as of the state of the context.
 * @throws BadArgument for a malformed address; DatabaseUnavailable.
 */
export async function beginHistoryCsv(
  context: ReadContext,
  address: string,
  isOnChain: (block: BlockId) => boolean,
): Promise<CsvExport> {
  const { scriptHash } = await requestedScript(context, address)
  const inMempool = context.mempool.ofScript(scriptHash).toReversed()
  const last = await lastOfScript(context, scriptHash)
  const count = last?.ordinal ?? 0
  return {
    isEmpty: count === 0 && inMempool.length === 0,
    parts: historyCsv(context, { scriptHash, count, inMempool }, isOnChain),
  }
}

/** The history of a script as of a state. */
interface History {
  readonly scriptHash: string
  /** The number of confirmed transactions. */
  readonly count: number
  /** Oldest first. */
  readonly inMempool: readonly ShownTx[]
}

/**
 * Returns the parts of the file. If a reorganisation removes the tip of its state, or the database fails, the last line is an error
 * instead of a transaction.
 */
export async function* historyCsv(
  context: Pick<ReadContext, 'chain' | 'tables'>,
  { scriptHash, count, inMempool }: History,
  isOnChain: (block: BlockId) => boolean,
): AsyncGenerator<string> {
  const { chain } = context
  const isRemoved = (): boolean =>
    chain.height >= 0 && !isOnChain({ height: chain.height, hash: chain.tipHash })
  yield HEADER
  let balance = 0n
  for (let from = 1; from <= count; from += ROWS_AT_ONCE) {
    let lines: string
    try {
      const to = Math.min(count, from + ROWS_AT_ONCE - 1)
      const page = await pageOfScript(context, scriptHash, { from, to }, [])
      lines = await linesOf(page, context)
      balance = page.reduce((sum, { change }) => sum + change, balance)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      yield errorLine('Database unavailable')
      return
    }
    if (isRemoved()) {
      yield errorLine(REMOVED)
      return
    }
    yield lines
  }
  for (const tx of inMempool) {
    const change = changeOf(tx, scriptHash)
    balance += change
    yield `${tx.txid},,,${isoTime(tx.firstSeen)},${String(change)},${String(balance)}\r\n`
  }
  if (isRemoved()) yield errorLine(REMOVED)
}

const REMOVED = 'A reorganisation has removed the state of this file: request it again'

const errorLine = (message: string): string => `error,"${message}"\r\n`

/** Returns the lines of confirmed transactions, in order. */
async function linesOf(
  page: readonly ScriptChange[],
  { chain: { blocks }, tables }: Pick<ReadContext, 'chain' | 'tables'>,
): Promise<string> {
  const located = await locatedOf(page, { tables })
  return page
    .map(({ row, change }, at) => {
      const txid = located[at]?.txid ?? ''
      const balance = row.totalReceived - row.totalSent
      const place = `${String(row.height)},${String(row.txIndex)},${isoTime(blocks.timeAt(row.height))}`
      return `${txid},${place},${String(change)},${String(balance)}\r\n`
    })
    .join('')
}
