import { type Static, Type } from '@sinclair/typebox'
import { addressesFrom, txidsFrom } from '../../tables/beginnings.js'
import { limit } from '../arguments.js'
import { declareRead, listFrom, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { PrefixMatch } from '../shapes.js'

/** The number of characters from which on a beginning is searched: fewer match by chance. */
export const SHORTEST_PREFIX = 4

/** The search for the beginning of a hash, a txid or an address. */
export const searchPrefix = declareRead({
  name: 'searchPrefix',
  about: 'Blocks, transactions and addresses that begin with a text; blocks also by the end of their hash.',
  path: '/search/prefix',
  fresh: 'mempool',
  args: {
    q: Type.String({
      pattern: `^[0-9a-zA-Z]{${String(SHORTEST_PREFIX)},100}$`,
      description: 'the beginning of a hash, a txid or an address',
      allowed: `${String(SHORTEST_PREFIX)} to 100 letters and digits`,
    }),
    limit: limit(10, 50),
  },
  answer: listed(PrefixMatch),
  emptyFrom: listFrom,
  async resolve(context, { q, limit }) {
    const lists = await Promise.all([
      ...(/^[0-9a-f]{1,64}$/i.test(q) ? hashesFrom(context, q.toLowerCase(), limit) : []),
      addresses(context, q, limit),
    ])
    return { items: dealt(lists, limit), limit }
  },
})

type Matches = Promise<Static<typeof PrefixMatch>[]>

const matches = (
  type: Static<typeof PrefixMatch>['type'],
  values: readonly string[],
  confirmed = true,
): Static<typeof PrefixMatch>[] => values.map((value) => ({ type, value, confirmed }))

function hashesFrom(
  { chain: { blocks }, mempool, tables }: ReadContext,
  digits: string,
  most: number,
): Matches[] {
  const hashes = blocks.matching(digits, most).map(({ hash }) => hash)
  const unconfirmed: string[] = []
  // In order of txid: the first one may be the whole of the digits.
  if (mempool.get(digits) !== undefined) unconfirmed.push(digits)
  for (const txid of mempool.txidsAfter(digits)) {
    if (unconfirmed.length >= most || !txid.startsWith(digits)) break
    unconfirmed.push(txid)
  }
  return [
    Promise.resolve(matches('block', hashes)),
    Promise.resolve(matches('transaction', unconfirmed, false)),
    txidsFrom(tables, blocks, digits, most).then((txids) => matches('transaction', txids)),
  ]
}

async function addresses({ chain, tables }: ReadContext, text: string, most: number): Matches {
  const { blocks, network } = chain
  if (network === undefined) return []
  const sought = { text, least: SHORTEST_PREFIX, most }
  return matches('address', await addressesFrom(tables, { blocks, network }, sought))
}

/** Returns items of all lists, as equally many of each as there are, in the order of the lists. */
function dealt<T>(lists: readonly (readonly T[])[], most: number): T[] {
  const counts = lists.map(() => 0)
  for (let left = most, had = -1; left > 0 && left !== had;) {
    had = left
    for (const [index, list] of lists.entries())
      if (left > 0 && (counts[index] ?? 0) < list.length) {
        counts[index] = (counts[index] ?? 0) + 1
        left--
      }
  }
  return lists.flatMap((list, index) => list.slice(0, counts[index]))
}
