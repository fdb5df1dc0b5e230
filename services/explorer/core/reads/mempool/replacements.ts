import { Type } from '@sinclair/typebox'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import { isoTime } from '../../../../../pipelines/chain/time.js'
import { departureOf } from '../../mempool/departure.js'
import type { DroppedTx } from '../../mempool/recent-drops.js'
import { resolveCoins } from '../../mempool/coins.js'
import { shownTx, type ShownTx } from '../../mempool/shown-tx.js'
import { confirmationsByTxid, NO_WITNESS, transactionByTxid } from '../../tables/transactions.js'
import { hash, limit } from '../arguments.js'
import { unconfirmed } from '../chain/transaction-rows.js'
import { cursorOf, decodeCursor, encodeCursor, numberIn } from '../cursor.js'
import { declareRead, networkIn, NotFound, type ReadContext } from '../read.js'
import { DroppedTransaction, type ReplacementMember, Replacements, ReplacementTree } from '../shapes.js'
import { WrittenAnswer } from '../written-answer.js'
import { projectable } from './transaction-package.js'

/** The maximum number of transactions of a tree. */
const MAX_TREE = 500
/** About the characters of a member of a tree or of a list. */
const MEMBER_CHARACTERS = 400
const NOT_KNOWN = 'Transaction has not left the mempool, or is not known any more'

export const replacedTransaction = declareRead({
  name: 'replacedTransaction',
  about: 'A transaction that was replaced, evicted or expired, as it was in the mempool.',
  path: '/tx/:txid/replaced',
  fresh: 'mempool',
  args: { txid: hash },
  answer: DroppedTransaction,
  notFound: [NOT_KNOWN],
  async resolve(context, { txid: requested }) {
    const network = networkIn(context)
    const txid = requested.toLowerCase()
    const { dropped, size } = context
    const drop = await presentOrDropped(txid, context)
    if (drop === undefined || 'unconfirmed' in drop || 'confirmed' in drop) throw new NotFound(NOT_KNOWN)
    const raw = await dropped.rawOf(drop.dropped)
    if (raw === undefined) throw new NotFound(NOT_KNOWN)
    await size.reserve(2 * raw.length)
    const { fee, firstSeen = 0 } = drop.dropped
    const tx = await withCoins(shownTx({ raw, fee, firstSeen, network }), context)
    const json = unconfirmed(tx, context)
    return new WrittenAnswer(`${json.slice(0, -1)},${JSON.stringify(departureOf(drop.dropped)).slice(1)}`)
  },
})

/** Looks up the outputs that a transaction spends: in the mempool, in the chain, and in transactions that left with it. */
async function withCoins(tx: ShownTx, { mempool, tables, dropped }: ReadContext): Promise<ShownTx> {
  const [known = tx] = await resolveCoins([tx], (txid) => mempool.get(txid), tables)
  const parents = new Map<string, ShownTx>()
  for (const [index, outpoint] of known.outpoints.entries()) {
    const txid = outpoint.slice(0, 64)
    const parent = known.coins[index] === undefined ? await dropped.find(txid) : undefined
    const raw = parent && (await dropped.rawOf(parent))
    if (parent === undefined || raw === undefined) continue
    parents.set(txid, shownTx({ raw, fee: parent.fee, firstSeen: 0, network: tx.network }))
  }
  const [found = known] = await resolveCoins([known], (txid) => parents.get(txid), tables)
  return found
}

/** A transaction as it is known: the mempool and the chain come before what left. */
type Known =
  | { readonly unconfirmed: ShownTx }
  | { readonly confirmed: Pick<ShownTx, 'fee' | 'vsize'> }
  | { readonly dropped: DroppedTx }

async function presentOrDropped(txid: string, context: ReadContext): Promise<Known | undefined> {
  const { mempool, tables, chain, dropped } = context
  const unconfirmed = mempool.get(txid)
  if (unconfirmed !== undefined) return { unconfirmed }
  const [row, drop] = await Promise.all([
    transactionByTxid(tables, chain.blocks, txid, NO_WITNESS),
    dropped.find(txid),
  ])
  if (row !== undefined) return { confirmed: projectable(row, networkIn(context)) }
  return drop && { dropped: drop }
}

/** Returns what a tree or a list has of transactions that left. Those that came back have a status that says so. */
async function droppedMembers(
  drops: readonly DroppedTx[],
  { mempool, tables, chain }: ReadContext,
): Promise<ReplacementMember[]> {
  if (drops.length === 0) return []
  const txids = drops.map(({ txid }) => txid)
  const confirmed = await confirmationsByTxid(tables, chain.blocks, txids)
  return drops.map((drop): ReplacementMember => {
    const { txid } = drop
    const { reason, ...departure } = departureOf(drop)
    const isBack = mempool.get(txid) === undefined ? undefined : ('unconfirmed' as const)
    const status = isBack ?? (confirmed.has(txid) ? 'confirmed' : reason)
    return { txid, status, ...figuresOf(drop), ...departure }
  })
}

/** Returns what a tree or a list has of a transaction that may not be known. */
async function memberOf(
  txid: string,
  context: ReadContext,
  known: Known | undefined,
): Promise<ReplacementMember> {
  const nothing = { left: null, replaced_by: null, full_rbf: null }
  if (known === undefined)
    return { txid, status: 'unknown', fee: null, vsize: null, fee_rate: null, first_seen: null, ...nothing }
  if ('dropped' in known) {
    const { reason, ...departure } = departureOf(known.dropped)
    return { txid, status: reason, ...figuresOf(known.dropped), ...departure }
  }
  if ('unconfirmed' in known)
    return { txid, status: 'unconfirmed', ...figuresOf(known.unconfirmed), ...nothing }
  const firstSeen = await context.dropped.firstSeen(txid)
  return { txid, status: 'confirmed', ...figuresOf({ ...known.confirmed, firstSeen }), ...nothing }
}

const figuresOf = ({
  fee,
  vsize,
  firstSeen,
}: Pick<DroppedTx, 'fee' | 'vsize' | 'firstSeen'>): Pick<
  ReplacementMember,
  'fee' | 'vsize' | 'fee_rate' | 'first_seen'
> => ({
  fee: fee.toString(),
  vsize,
  fee_rate: feeRate(fee, vsize),
  first_seen: firstSeen === undefined ? null : isoTime(firstSeen),
})

export const transactionReplacements = declareRead({
  name: 'transactionReplacements',
  about: 'The transactions that a transaction replaced, or that replaced it, directly or not.',
  path: '/tx/:txid/replacements',
  fresh: 'mempool',
  args: { txid: hash },
  answer: ReplacementTree,
  notFound: ['Transaction not found'],
  async resolve(context, { txid: requested }) {
    const txid = requested.toLowerCase()
    const top = await topOf(txid, context)
    const first = await memberOf(top.txid, context, top.known)
    const { items, isComplete } = await replacedBelow(top.txid, context)
    if (top.known === undefined && items.length === 0) throw new NotFound('Transaction not found')
    return { txid, items: [first, ...items], complete: isComplete }
  },
})

/** Returns the transactions that a transaction replaced, directly or not, each after the one that replaced it. */
export async function replacedBelow(
  txid: string,
  context: ReadContext,
): Promise<{ readonly items: readonly ReplacementMember[]; readonly isComplete: boolean }> {
  const items: ReplacementMember[] = []
  const known = new Set([txid])
  let isComplete = true
  for (let level: readonly string[] = [txid]; level.length > 0 && isComplete;) {
    const replaced = (await context.dropped.replacedBy(level)).filter((drop) => !known.has(drop.txid))
    // The last drop of a transaction that was replaced several times is the first one here.
    const next = new Map(replaced.toReversed().map((drop) => [drop.txid, drop]))
    const added = [...next.values()].reverse().slice(0, MAX_TREE - known.size)
    isComplete = added.length === next.size
    for (const drop of added) known.add(drop.txid)
    items.push(...(await droppedMembers(added, context)))
    level = added.map((drop) => drop.txid)
  }
  context.size.add(MEMBER_CHARACTERS * items.length)
  return { items, isComplete }
}

/** Returns the transaction that nothing has replaced, beginning with one that may have been replaced. */
async function topOf(
  txid: string,
  context: ReadContext,
): Promise<{ readonly txid: string; readonly known: Known | undefined }> {
  const passed = new Set<string>()
  for (let id = txid; ; passed.add(id)) {
    const known = await presentOrDropped(id, context)
    const replacedBy = known !== undefined && 'dropped' in known ? known.dropped.replacedBy : undefined
    if (replacedBy === undefined || passed.has(replacedBy) || passed.size >= MAX_TREE)
      return { txid: id, known }
    id = replacedBy
  }
}

const LIST = 'mempoolReplacements'

export const mempoolReplacements = declareRead({
  name: LIST,
  about: 'The transactions that were replaced last, each with the one that replaced it.',
  path: '/mempool/replacements',
  fresh: 'mempool',
  args: {
    full_rbf: Type.Boolean({
      default: false,
      description: 'whether to list only those that had not signalled that they may be replaced',
    }),
    limit: limit(25, 100),
    cursor: cursorOf('continues the list after the part whose `next_cursor` this is'),
  },
  answer: Replacements,
  async resolve(context, { full_rbf: unsignalled, limit, cursor }) {
    const list = `${LIST} ${String(unsignalled)}`
    const before = cursor === undefined ? undefined : placeOf(decodeCursor(list, cursor))
    const drops = await context.dropped.replaced({ limit: limit + 1, before, unsignalled })
    const shown = drops.slice(0, limit)
    context.size.add(2 * MEMBER_CHARACTERS * shown.length)
    const replacement = async ({ replacedBy = '' }: DroppedTx): Promise<ReplacementMember> =>
      memberOf(replacedBy, context, await presentOrDropped(replacedBy, context))
    const [replaced, replacements] = await Promise.all([
      droppedMembers(shown, context),
      Promise.all(shown.map(replacement)),
    ])
    const items = replaced.map((each, at) => {
      return { replaced: each, replacement: replacements[at] as ReplacementMember }
    })
    const last = drops.length > limit ? shown.at(-1) : undefined
    const next_cursor = last ? encodeCursor(list, [last.leftAt, last.position, last.item]) : null
    return { items, limit, next_cursor }
  },
})

const placeOf = ([leftAt, position, item]: readonly string[]) => ({
  leftAt: numberIn(leftAt),
  position: numberIn(position),
  item: numberIn(item),
})
