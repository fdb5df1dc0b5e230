import { isoTime } from '../../../../../pipelines/chain/time.js'
import { Type } from '@sinclair/typebox'
import type { ShownTx } from '../../mempool/shown-tx.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { address, at, limit, offset, page } from '../arguments.js'
import { cursor } from '../cursor.js'
import { declareRead, listFrom, NO_BLOCK, NotFound } from '../read.js'
import { continued, windowed } from '../lists.js'
import { AddressSummary, AddressTransaction, Utxo } from '../shapes.js'
import { decodePlace, encodePlace, type HistorySlots, placeAfter, slotsAfter } from './history-cursor.js'
import {
  changeOf,
  endOfScript,
  lastOfScript,
  locatedOf,
  pageOfScript,
  requestedScript,
  scriptFields,
} from '../script.js'
import { summaryOf } from './summary.js'
import { unspentOnChain, unspentWithMempool } from './unspent.js'

/** An address or script is known if the chain or the mempool contains it. The totals count the chain alone. */
export const addressSummary = declareRead({
  name: 'address',
  about: 'Totals, balance and unconfirmed changes of an address, or of a script.',
  path: '/address/:address',
  fresh: 'objects',
  args: { address, at },
  answer: AddressSummary,
  notFound: ['Address not found', NO_BLOCK],
  async resolve(context, { address }) {
    const summary = await summaryOf(context, await requestedScript(context, address))
    if (summary === undefined) throw new NotFound('Address not found', 0, 'HW_ADDRESS_NOT_FOUND')
    return summary
  },
})

export const addressTransactions = declareRead({
  name: 'addressTransactions',
  about: 'The transactions of an address, including unconfirmed ones.',
  path: '/address/:address/txs',
  fresh: 'objects',
  args: {
    address,
    page,
    limit: limit(25, 100),
    sort: Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
      default: 'desc',
      description: 'oldest or newest first',
    }),
    cursor,
    at,
  },
  answer: continued(AddressTransaction),
  notFound: [NO_BLOCK],
  emptyFrom: listFrom,
  async resolve(context, { address: requested, page, limit, sort, cursor }) {
    const { scriptHash, address } = await requestedScript(context, requested)
    context.validity.dependsOn(scriptHash)
    const inMempool = context.mempool.ofScript(scriptHash)
    const { blocks } = context.chain
    const list = { scriptHash, sort }
    const before = cursor === undefined ? undefined : decodePlace(list, cursor, context.chain)
    // The rows of the newest page are the script's last rows, so one query returns both the count and the page.
    const end =
      page === 1 && sort === 'desc' && before === undefined
        ? await endOfScript(context, scriptHash, limit + 1)
        : [await lastOfScript(context, scriptHash)].filter((row) => row !== undefined)
    const [last] = end
    const count = last?.ordinal ?? 0
    const slots =
      before === undefined
        ? pageSlots({ page, limit, sort, confirmed: count }, inMempool)
        : slotsAfter(before, sort, { limit, confirmed: count, inMempool })
    const rows = await pageOfScript(context, scriptHash, slots, end)
    const located = await locatedOf(rows, context)
    const confirmed = rows.map(({ row, change }, at) => {
      const txid = located[at]?.txid ?? ''
      return itemOf({ address, txid, change, time: blocks.timeAt(row.height) }, row)
    })
    const unconfirmed = slots.unconfirmed.map((tx) => {
      return itemOf({ address, txid: tx.txid, change: changeOf(tx, scriptHash), time: tx.firstSeen })
    })
    const items =
      sort === 'desc' ? [...unconfirmed, ...confirmed.reverse()] : [...confirmed, ...unconfirmed.reverse()]
    const place = placeAfter(sort, slots, { before, rows: rows.map(({ row }) => row), last, inMempool })
    const next_cursor = place === undefined ? null : encodePlace(list, place)
    return { items, total: count + inMempool.length, page, limit, next_cursor }
  },
})

/** Selects the items of a page by its number. */
function pageSlots(
  requested: {
    readonly page: number
    readonly limit: number
    readonly sort: 'asc' | 'desc'
    readonly confirmed: number
  },
  inMempool: readonly ShownTx[],
): HistorySlots {
  const { from, to, unconfirmedFrom, unconfirmedTo } = slotsOf({
    ...requested,
    unconfirmed: inMempool.length,
  })
  return { from, to, unconfirmed: inMempool.slice(unconfirmedFrom, unconfirmedTo) }
}

const withMempool = Type.Boolean({
  default: false,
  description:
    'whether to add the outputs of unconfirmed transactions, and to leave out those that they spend',
})

export const addressUtxos = declareRead({
  name: 'addressUtxos',
  about: 'The unspent outputs of an address, newest first: those of the chain, or as of chain and mempool.',
  path: '/address/:address/utxos',
  fresh: 'objects',
  args: { address, limit: limit(100, 500), offset, mempool: withMempool, at },
  answer: windowed(Utxo),
  notFound: [NO_BLOCK],
  emptyFrom: listFrom,
  async resolve(context, { address, limit, offset, mempool }) {
    const requested = await requestedScript(context, address)
    context.validity.dependsOn(requested.scriptHash)
    const read = mempool ? unspentWithMempool : unspentOnChain
    const { outputs, total } = await read(context, requested, { limit, offset })
    const { script, network } = requested
    if (script === undefined && total > 0)
      throw new Error(`table scripts lacks script ${requested.scriptHash}`)
    const unspent = { spent_txid: null, spent_vin: null }
    const items = outputs.map(({ txid, vout, height, txIndex, value }) => ({
      txid,
      vout,
      block_height: height,
      value,
      ...scriptFields(context, { script: script as Buffer, network }),
      ...unspent,
      is_coinbase: txIndex === 0,
    }))
    return { items, total, limit, offset }
  },
})

interface Slots {
  /** First and last ordinal of the confirmed transactions; none if `from` is larger than `to`. */
  readonly from: number
  readonly to: number
  /** Range within the unconfirmed transactions, newest first. */
  readonly unconfirmedFrom: number
  readonly unconfirmedTo: number
}

/** Selects the rows of a page. Unconfirmed transactions precede all confirmed ones in `desc`, and follow them in `asc`. */
export function slotsOf(requested: {
  readonly page: number
  readonly limit: number
  readonly sort: 'asc' | 'desc'
  readonly confirmed: number
  readonly unconfirmed: number
}): Slots {
  const { page, limit, sort, confirmed, unconfirmed } = requested
  const total = confirmed + unconfirmed
  const start = Math.min((page - 1) * limit, total)
  const end = Math.min(start + limit, total)
  // Positions in `desc`, whatever the requested order.
  const [first, last] = sort === 'desc' ? [start, end] : [total - end, total - start]
  return {
    from: confirmed - Math.max(0, last - unconfirmed) + 1,
    to: confirmed - Math.max(0, first - unconfirmed),
    unconfirmedFrom: Math.min(first, unconfirmed),
    unconfirmedTo: Math.min(last, unconfirmed),
  }
}

/** Returns an item of the list. @param row undefined for an unconfirmed transaction. */
function itemOf(
  { address, txid, change, time }: { address: string | null; txid: string; change: bigint; time: number },
  row?: ScriptRow,
): AddressTransaction {
  return {
    address,
    txid,
    block_height: row?.height ?? null,
    tx_index: row?.txIndex ?? null,
    value_change: change.toString(),
    timestamp: isoTime(time),
  }
}
