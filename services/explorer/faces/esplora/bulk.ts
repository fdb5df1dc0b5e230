import { Type } from '@sinclair/typebox'
import { BadArgument, declareRead, type ReadContext } from '../../core/reads/read.js'
import type { NamedScript } from '../../core/reads/script.js'
import type { PlacedTx } from '../../core/tables/lookups.js'
import { hashIn, numberIn, scriptOfAddress, scriptOfScriptHash, text } from './arguments.js'
import { emptyList, listOf, MAX_UNCONFIRMED } from './addresses.js'
import { PAGE, pageBelowPlace, placeOf } from './histories.js'
import { spendOfOutpoint, spendsIfKnown, UNSPENT } from './outspends.js'
import { transactionsOfBlocks, unconfirmed } from './transaction-rows.js'

/** The limits of the numbers of transactions and of scripts in one request. */
const MOST = { txids: 50, outpoints: 1_000, scripts: 300 }
/** The number of items that the rate limit counts as a request. */
const ITEMS_PER_REQUEST = 10

const listed = (description: string) => Type.Array(text(description), { description })

const costOf = (items: readonly unknown[]): number => Math.ceil(items.length / ITEMS_PER_REQUEST)

/** @throws BadArgument for a list that is too long. */
function assertAtMost(items: readonly unknown[], most: number): void {
  if (items.length > most) throw new BadArgument(`At most ${String(most)} items are allowed`)
}

/**
 * Returns JSON items as a list: as an object if one of them says of something unknown that nothing spends it, for `emptyFrom`.
 * @param items the JSON of each, undefined for something unknown.
 * @param unknown the JSON of something unknown.
 */
function answerOf(items: readonly (string | undefined)[], unknown: string): ReturnType<typeof listOf> {
  const list = items.map((item) => item ?? unknown)
  return items.includes(undefined) ? list.map((item) => JSON.parse(item) as unknown) : listOf(list)
}

async function spendLists(
  context: ReadContext,
  txids: readonly string[],
): Promise<ReturnType<typeof listOf>> {
  assertAtMost(txids, MOST.txids)
  const items: (string | undefined)[] = []
  for (const txid of txids.map(hashIn)) items.push(await spendsIfKnown(txid, context))
  return answerOf(items, '[]')
}

/** Implements `emptyFrom` for lists with something unknown, which are objects: a block at any height may contain it. */
const withUnknown = (_: unknown, items: readonly unknown[]): number | undefined =>
  items.length === 0 ? undefined : 0

const splitOf = (txids: string): string[] => txids.split(',').filter((txid) => txid !== '')

export const outspendsOfTxs = declareRead({
  name: 'esploraOutspendsOfTxs',
  path: '/txs/outspends',
  fresh: 'mempool',
  args: { txids: text('txids, separated by commas') },
  answer: Type.Array(Type.Unknown()),
  cost: ({ txids }) => costOf(splitOf(txids)),
  emptyFrom: withUnknown,
  resolve: (context, { txids }) => spendLists(context, splitOf(txids)),
})

export const outspendsByTxid = declareRead({
  name: 'esploraOutspendsByTxid',
  path: '/txs/outspends/by-txid',
  method: 'POST',
  fresh: 'mempool',
  args: { items: listed('txid') },
  answer: Type.Array(Type.Unknown()),
  cost: ({ items }) => costOf(items),
  emptyFrom: withUnknown,
  resolve: (context, { items }) => spendLists(context, items),
})

export const outspendsByOutpoint = declareRead({
  name: 'esploraOutspendsByOutpoint',
  path: '/txs/outspends/by-outpoint',
  method: 'POST',
  fresh: 'mempool',
  args: { items: listed('outpoint, txid:vout') },
  answer: Type.Array(Type.Unknown()),
  cost: ({ items }) => costOf(items),
  emptyFrom: withUnknown,
  async resolve(context, { items }) {
    assertAtMost(items, MOST.outpoints)
    const outpoints = items.map((item) => {
      const [txid = '', vout = ''] = item.split(':')
      return [hashIn(txid), numberIn(vout)] as const
    })
    const spends = await Promise.all(outpoints.map(([txid, vout]) => spendOfOutpoint(txid, vout, context)))
    return answerOf(spends, UNSPENT)
  },
})

/** Returns the read of the transactions of several scripts: those of the mempool, then those of the chain, newest first. */
function historiesOf(
  segment: 'addresses' | 'scripthashes',
  scriptOf: (context: ReadContext, name: string) => NamedScript | Promise<NamedScript>,
) {
  return declareRead({
    name: `esplora-${segment}-txs`,
    path: `/${segment}/txs`,
    method: 'POST',
    fresh: 'mempool',
    args: {
      items: listed('name of a script'),
      after_txid: Type.Optional(text('the last transaction that is known')),
    },
    answer: Type.Array(Type.Unknown()),
    emptyFrom: emptyList,
    cost: ({ items }) => costOf(items),
    async resolve(context, { items, after_txid: argument }) {
      assertAtMost(items, MOST.scripts)
      const named = await Promise.all(items.map(async (item) => scriptOf(context, item)))
      const hashes = [...new Set(named.map(({ scriptHash }) => scriptHash))]
      const inMempool = [...new Set(hashes.flatMap((hash) => context.mempool.ofScript(hash)))].sort(
        (one, other) => other.firstSeen - one.firstSeen,
      )
      const after = argument === undefined ? undefined : hashIn(argument)
      const at = inMempool.findIndex(({ txid }) => txid === after)
      const place = after === undefined || at >= 0 ? undefined : await placeOf(after, context)
      if (after !== undefined && at < 0 && place === undefined) return []
      const newer = place === undefined ? inMempool.slice(at + 1, at + 1 + MAX_UNCONFIRMED) : []
      const located = await newestOf(hashes, context, place)
      return listOf([...newer.map(unconfirmed), ...(await transactionsOfBlocks(located, context))])
    },
  })
}

/** Returns the newest transactions of scripts in the chain, each once, newest first. @param place the transaction that they follow. */
async function newestOf(
  hashes: readonly string[],
  context: ReadContext,
  place: Pick<PlacedTx, 'height' | 'txIndex'> | undefined,
): Promise<PlacedTx[]> {
  const byPlace = new Map<string, PlacedTx>()
  for (const hash of hashes)
    for (const each of await pageBelowPlace(context, hash, place))
      byPlace.set(`${String(each.height)} ${String(each.txIndex)}`, each)
  return [...byPlace.values()]
    .sort((one, other) => other.height - one.height || other.txIndex - one.txIndex)
    .slice(0, PAGE)
}

export const HISTORY_READS = [
  historiesOf('addresses', scriptOfAddress),
  historiesOf('scripthashes', scriptOfScriptHash),
]
