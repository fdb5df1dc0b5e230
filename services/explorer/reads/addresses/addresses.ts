import { Type } from '@sinclair/typebox'
import { isDilithiumScript } from '../../../../pipelines/chain/address.js'
import { scriptType } from '../../../../pipelines/chain/script.js'
import { unspentPage } from '../../../../pipelines/tables/lists/unspent.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { blockTxKey } from '../../tables/point-keys.js'
import type { ScriptRow } from '../../tables/tables.js'
import { address, limit, offset, page } from '../arguments.js'
import { isoTime } from '../chain/block-rows.js'
import { declareRead, listFrom, NotFound } from '../read.js'
import { endOfScript, endsOfScript, lastOfScript, pageOfScript, requestedScript } from './script.js'
import { AddressSummary, AddressTransaction, paged, Utxo, windowed } from '../shapes.js'

/** An address is known if the chain or the mempool contains it. The totals are those of the chain. */
export const addressSummary = declareRead({
  name: 'address',
  about: 'Totals, balance and unconfirmed changes of an address.',
  path: '/address/:address',
  fresh: 'objects',
  args: { address },
  answer: AddressSummary,
  notFound: ['Address not found'],
  async resolve(context, { address }) {
    const requested = requestedScript(context, address)
    const { network } = requested
    context.validity.dependsOn(requested.scriptHash)
    const inMempool = context.mempool.ofScript(requested.scriptHash)
    const [first, last] = await endsOfScript(context, requested.scriptHash)
    if (last === undefined && inMempool.length === 0)
      throw new NotFound('Address not found', 0, 'HW_ADDRESS_NOT_FOUND')
    const change = inMempool.reduce((sum, tx) => sum + changeOf(tx, requested.scriptHash), 0n)
    const timeOf = (row: ScriptRow | undefined): string | null =>
      row === undefined ? null : isoTime(context.chain.blocks.timeAt(row.height))
    const received = last?.totalReceived ?? 0n
    const sent = last?.totalSent ?? 0n
    return {
      address,
      script_type: scriptType(requested.script, network),
      first_seen_height: first?.height ?? null,
      first_seen: timeOf(first),
      last_seen: timeOf(last),
      tx_count: last?.ordinal ?? 0,
      total_received: received.toString(),
      total_sent: sent.toString(),
      balance: (received - sent).toString(),
      unspent_count: last?.unspentCount ?? 0,
      isDilithium:
        isDilithiumScript(requested.script, network) ||
        requested.isDilithiumSpelling ||
        last?.hasDilithiumSpend === true,
      unconfirmed: { balance_change: change.toString(), tx_count: inMempool.length },
    }
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
  },
  answer: paged(AddressTransaction),
  emptyFrom: listFrom,
  async resolve(context, { address, page, limit, sort }) {
    const { scriptHash } = requestedScript(context, address)
    context.validity.dependsOn(scriptHash)
    const inMempool = context.mempool.ofScript(scriptHash)
    const { blocks } = context.chain
    // The rows of the newest page are the last ones, so one query returns both the count and the page.
    const end =
      page === 1 && sort === 'desc'
        ? await endOfScript(context, scriptHash, limit + 1)
        : [await lastOfScript(context, scriptHash)].filter((row) => row !== undefined)
    const count = end[0]?.ordinal ?? 0
    const slots = slotsOf({ page, limit, sort, confirmed: count, unconfirmed: inMempool.length })
    const rows = await pageOfScript(context, scriptHash, slots, end)
    const txids = await context.tables.blockTxs.getAll(rows.map(({ row }) => blockTxKey(row)))
    const confirmed = rows.map(({ row, change }) => {
      const txid = txids.get(blockTxKey(row))?.txid
      if (txid === undefined)
        throw new Error(`table block_txs lacks a transaction at height ${String(row.height)}`)
      return itemOf({ address, txid, change, time: blocks.timeAt(row.height) }, row)
    })
    const unconfirmed = inMempool.slice(slots.unconfirmedFrom, slots.unconfirmedTo).map((tx) => {
      return itemOf({ address, txid: tx.txid, change: changeOf(tx, scriptHash), time: tx.firstSeen })
    })
    const items =
      sort === 'desc' ? [...unconfirmed, ...confirmed.reverse()] : [...confirmed, ...unconfirmed.reverse()]
    return { items, total: count + inMempool.length, page, limit }
  },
})

export const addressUtxos = declareRead({
  name: 'addressUtxos',
  about: 'The confirmed unspent outputs of an address, newest first.',
  path: '/address/:address/utxos',
  fresh: 'objects',
  args: { address, limit: limit(100, 500), offset },
  answer: windowed(Utxo),
  emptyFrom: listFrom,
  async resolve(context, { address, limit, offset }) {
    const requested = requestedScript(context, address)
    context.validity.dependsOn(requested.scriptHash)
    const total = (await lastOfScript(context, requested.scriptHash))?.unspentCount ?? 0
    if (offset >= total) return { items: [], total, limit, offset }
    const filter = context.chain.view?.tagFilter() ?? '0'
    const outputs = await unspentPage(
      context.tables,
      { scriptHash: requested.scriptHash, filter },
      { limit, offset, total },
    )
    const script_type = scriptType(requested.script, requested.network)
    const script = { script_pub_key: requested.script.toString('hex'), script_type }
    const items = outputs.map(({ txid, vout, height, value }) => {
      return { txid, vout, block_height: height, value, ...script, spent_txid: null, spent_vin: null }
    })
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

const changeOf = (tx: ShownTx, scriptHash: string): bigint => tx.changes.get(scriptHash) ?? 0n

/** Returns an item of the list. @param row undefined for an unconfirmed transaction. */
function itemOf(
  { address, txid, change, time }: { address: string; txid: string; change: bigint; time: number },
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
