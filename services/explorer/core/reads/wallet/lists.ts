import { limit, offset, page } from '../arguments.js'
import { unspentWithMempool } from '../addresses/unspent.js'
import { assertOnChain, cursor, decodeCursor, encodeCursor, numberIn } from '../cursor.js'
import { continued, windowed } from '../lists.js'
import { declareRead, NO_BLOCK, type ReadContext } from '../read.js'
import { WalletTransaction, WalletUtxo } from '../shapes.js'
import {
  assertReadable,
  changesOf,
  itemsOf,
  type UnconfirmedChange,
  unconfirmedChanges,
  type WalletChange,
} from './history.js'
import { costOf, scan, WALLET_ARGUMENTS, type WalletScript } from './scan.js'
import { usedScripts } from './wallet.js'

export const walletTransactions = declareRead({
  name: 'walletTransactions',
  about:
    'The transactions of an extended public key or an output descriptor, newest first, each once with what it changes in all.',
  path: '/wallet/txs',
  method: 'POST',
  isPrivate: true,
  fresh: 'live',
  args: { ...WALLET_ARGUMENTS, page, limit: limit(25, 500), cursor },
  answer: continued(WalletTransaction),
  notFound: [NO_BLOCK],
  cost: costOf,
  emptyFrom: () => 0,
  async resolve(context, { page, limit, cursor, ...args }) {
    const used = usedScripts(await scan(context, args))
    assertReadable(used)
    const history = { unconfirmed: unconfirmedChanges(used), confirmed: await changesOf(context, used) }
    const total = history.unconfirmed.length + history.confirmed.length
    const start =
      cursor === undefined ? Math.min((page - 1) * limit, total) : startAfter(context, history, cursor)
    const end = Math.min(start + limit, total)
    const { length } = history.unconfirmed
    const unconfirmed = history.unconfirmed.slice(start, end)
    const confirmed = history.confirmed.slice(Math.max(0, start - length), Math.max(0, end - length))
    const items = await itemsOf(context, unconfirmed, confirmed)
    const next_cursor = end === total || start === end ? null : placeAfter(unconfirmed, confirmed, cursor)
    return { items, total, page, limit, next_cursor }
  },
})

/** The transactions of a wallet, newest first. */
interface History {
  readonly unconfirmed: readonly UnconfirmedChange[]
  readonly confirmed: readonly WalletChange[]
}

/** A cursor contains nothing of the key: the client sends that with it. */
const LIST = 'wallet'
const NONE = '-'

/** Encodes the place of the last transaction of a page, and the newest block of the pages so far. */
function placeAfter(
  unconfirmed: readonly UnconfirmedChange[],
  confirmed: readonly WalletChange[],
  before: string | undefined,
): string {
  const earlier = before === undefined ? [] : decodeCursor(LIST, before)
  const [first, last] = [confirmed[0]?.row, confirmed.at(-1)?.row]
  const newest = earlier[0] !== undefined && earlier[0] !== NONE ? earlier.slice(0, 2) : undefined
  const block = newest ?? (first === undefined ? [NONE, NONE] : [first.height, first.blockTag])
  const tx = unconfirmed.at(-1)?.tx
  if (last !== undefined) return encodeCursor(LIST, [...block, last.height, last.txIndex])
  return encodeCursor(LIST, [...block, NONE, tx?.firstSeen ?? 0, tx?.txid ?? NONE])
}

/** Returns the index of the first transaction after a place. @throws BadArgument, CursorOutdated, NotBuiltYet. */
function startAfter({ chain }: ReadContext, { unconfirmed, confirmed }: History, cursor: string): number {
  const [newest, tag, height, second, txid = ''] = decodeCursor(LIST, cursor)
  if (newest !== NONE) assertOnChain(chain, numberIn(newest), numberIn(tag))
  if (height === NONE) {
    const seen = numberIn(second)
    const at = unconfirmed.findIndex(
      ({ tx }) => tx.firstSeen < seen || (tx.firstSeen === seen && tx.txid > txid),
    )
    return at < 0 ? unconfirmed.length : at
  }
  const [lastHeight, lastIndex] = [numberIn(height), numberIn(second)]
  const at = confirmed.findIndex(
    ({ row }) => row.height < lastHeight || (row.height === lastHeight && row.txIndex < lastIndex),
  )
  return unconfirmed.length + (at < 0 ? confirmed.length : at)
}

export const walletUtxos = declareRead({
  name: 'walletUtxos',
  about:
    'The unspent outputs of an extended public key or an output descriptor, as of chain and mempool, newest first.',
  path: '/wallet/utxos',
  method: 'POST',
  isPrivate: true,
  fresh: 'live',
  args: { ...WALLET_ARGUMENTS, limit: limit(100, 500), offset },
  answer: windowed(WalletUtxo),
  notFound: [NO_BLOCK],
  cost: costOf,
  emptyFrom: () => 0,
  async resolve(context, { limit, offset, ...args }) {
    const used = usedScripts(await scan(context, args))
    assertReadable(used)
    const outputs = await unspentOf(context, used)
    return { items: outputs.slice(offset, offset + limit), total: outputs.length, limit, offset }
  },
})

/** The number of scripts whose outputs are read at once. */
const SCRIPTS_AT_ONCE = 20

/** Returns the unspent outputs of scripts: unconfirmed ones first, then newest block first, by txid and vout. */
export async function unspentOf(
  context: ReadContext,
  scripts: readonly WalletScript[],
): Promise<WalletUtxo[]> {
  const outputs: WalletUtxo[] = []
  for (let from = 0; from < scripts.length; from += SCRIPTS_AT_ONCE) {
    const some = scripts.slice(from, from + SCRIPTS_AT_ONCE).map(async (each): Promise<WalletUtxo[]> => {
      const window = { limit: Number.MAX_SAFE_INTEGER, offset: 0 }
      const { type, branch, index, address } = each
      const unspent = await unspentWithMempool(context, each, window)
      return unspent.outputs.map(({ txid, vout, height, txIndex, value }) => {
        return {
          txid,
          vout,
          block_height: height,
          value,
          is_coinbase: txIndex === 0,
          type,
          branch,
          index,
          address,
        }
      })
    })
    outputs.push(...(await Promise.all(some)).flat())
  }
  const heightOf = ({ block_height: height }: WalletUtxo): number => height ?? Number.POSITIVE_INFINITY
  return outputs.sort((one, other) => {
    if (one.block_height !== other.block_height) return heightOf(one) < heightOf(other) ? 1 : -1
    if (one.txid !== other.txid) return one.txid < other.txid ? -1 : 1
    return one.vout - other.vout
  })
}
