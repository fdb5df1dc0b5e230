import { Type } from '@sinclair/typebox'
import { shownTx } from '../../../core/mempool/shown-tx.js'
import { mempoolReplacements, transactionReplacements } from '../../../core/reads/mempool/replacements.js'
import { declareRead, NEVER, networkIn, NotFound, type ReadContext } from '../../../core/reads/read.js'
import type { ReplacementMember } from '../../../core/reads/shapes.js'
import { WrittenAnswer } from '../../../core/reads/written-answer.js'
import { hashIn, text } from '../arguments.js'
import { unconfirmed } from '../transaction-rows.js'

/** The number of replacements from which the newest trees are made. */
const NEWEST = 25
/** The number of trees of a summary. */
const SUMMARY = 6

/** A transaction and what it replaced, as mempool.space has it. Amounts in base units, times in Unix seconds. */
export interface RbfTree {
  readonly tx: {
    readonly txid: string
    readonly fee: number
    readonly vsize: number
    readonly rate: number
    readonly time: number
    readonly mined: boolean
    readonly fullRbf: boolean
  }
  readonly time: number
  /** The seconds until it was replaced; missing for the transaction that nothing has replaced. */
  readonly interval?: number
  readonly mined: boolean
  /** True if one of the tree was replaced although it had not signalled it. */
  readonly fullRbf: boolean
  readonly replaces: readonly RbfTree[]
}

const secondsOf = (time: string | null): number => (time === null ? 0 : Math.floor(Date.parse(time) / 1_000))

/** Returns the tree below a member. @param all the members of the tree, with what replaced each. */
function treeOf(member: ReplacementMember, all: readonly ReplacementMember[], replacedAt?: number): RbfTree {
  const { txid, status, fee, vsize, first_seen } = member
  const time = secondsOf(first_seen)
  const replaces = all.filter((each) => each.replaced_by === txid).map((each) => treeOf(each, all, time))
  const isMined = status === 'confirmed'
  const isUnsignalled = member.full_rbf === true
  const paid = Number(fee ?? 0)
  const size = vsize ?? 0
  return {
    tx: {
      txid,
      fee: paid,
      vsize: size,
      rate: size === 0 ? 0 : paid / size,
      time,
      mined: isMined,
      fullRbf: isUnsignalled,
    },
    time,
    ...(replacedAt === undefined ? {} : { interval: Math.max(0, replacedAt - time) }),
    mined: isMined || replaces.some(({ mined }) => mined),
    fullRbf: isUnsignalled || replaces.some(({ fullRbf }) => fullRbf),
    replaces,
  }
}

type Answer<T> = T | WrittenAnswer<T>
const valueOf = <T>(answer: Answer<T>): T => (answer instanceof WrittenAnswer ? answer.parse() : answer)

/** Returns the tree that a transaction belongs to, and its members; undefined if nothing is known of it. */
async function treeWith(txid: string, context: ReadContext) {
  try {
    const { items } = valueOf(await transactionReplacements.resolve(context, { txid }))
    const [top, ...rest] = items
    return top && { tree: treeOf(top, rest), items }
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}

/** Returns the trees with the newest replacements, newest first. @param unsignalled true for those with a full replacement only. */
export async function newestTrees(context: ReadContext, unsignalled: boolean): Promise<RbfTree[]> {
  networkIn(context)
  const args = { full_rbf: unsignalled, limit: NEWEST }
  const { items } = valueOf(await mempoolReplacements.resolve(context, args))
  const trees: RbfTree[] = []
  const known = new Set<string>()
  for (const { replaced } of items) {
    if (known.has(replaced.txid)) continue
    const found = await treeWith(replaced.txid, context)
    if (found === undefined || found.tree.replaces.length === 0) continue
    for (const { txid } of found.items) known.add(txid)
    trees.push(found.tree)
  }
  return trees
}

/** Returns trees in short: what the first transaction pays, and what those that it replaced directly paid together. */
export const summaryOf = (trees: readonly RbfTree[]) =>
  trees.slice(0, SUMMARY).map(({ tx, replaces }) => ({
    txid: tx.txid,
    mined: tx.mined,
    fullRbf: replaces.some(({ tx: { fullRbf } }) => fullRbf),
    oldFee: replaces.reduce((sum, each) => sum + each.tx.fee, 0),
    oldVsize: replaces.reduce((sum, each) => sum + each.tx.vsize, 0),
    newFee: tx.fee,
    newVsize: tx.vsize,
  }))

export const replacementsOfTx = declareRead({
  name: 'mempoolSpaceRbf',
  path: '/v1/tx/:txid/rbf',
  fresh: 'mempool',
  args: { txid: text('txid') },
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const txid = hashIn(args.txid)
    const found = await treeWith(txid, context)
    const replaced = found?.items.filter((each) => each.replaced_by === txid).map((each) => each.txid) ?? []
    const hasTree = found !== undefined && found.tree.replaces.length > 0
    return { replacements: hasTree ? found.tree : null, replaces: replaced.length === 0 ? null : replaced }
  },
})

export const replacementTrees = declareRead({
  name: 'mempoolSpaceReplacements',
  path: '/v1/replacements',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => newestTrees(context, false),
})

export const fullReplacementTrees = declareRead({
  name: 'mempoolSpaceFullReplacements',
  path: '/v1/fullrbf/replacements',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => newestTrees(context, true),
})

/** A transaction that left the mempool without a block, as it was there. */
export const cachedTx = declareRead({
  name: 'mempoolSpaceCachedTx',
  path: '/v1/tx/:txid/cached',
  fresh: 'mempool',
  args: { txid: text('txid') },
  answer: Type.Unknown(),
  async resolve(context, args) {
    const network = networkIn(context)
    const drop = await context.dropped.find(hashIn(args.txid))
    const raw = drop && (await context.dropped.rawOf(drop))
    if (drop === undefined || raw === undefined) throw new NotFound('Transaction not found', NEVER)
    const { fee, firstSeen = 0 } = drop
    return new WrittenAnswer(unconfirmed(shownTx({ raw, fee, firstSeen, network })))
  },
})
