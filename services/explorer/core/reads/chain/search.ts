import { Type } from '@sinclair/typebox'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { badArgument } from '../arguments.js'
import { findBlock } from './block-rows.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../read.js'
import { confirmationsByTxid } from '../../tables/transactions.js'
import { lastOfScript, scriptOf } from '../script.js'
import { SearchResult } from '../shapes.js'
import { searchText } from './search-text.js'

/** The maximum length of a text that is no URL or URI. */
const MAX_TEXT = 100
/** The maximum length of a URL or URI: percent-encoded, its request line still fits into one TCP segment. */
const MAX_URL = 380
/** ASCII that may be a URL or a URI. */
// eslint-disable-next-line no-control-regex -- includes the line break after a pasted text
const URL_LIKE = /^[\x00-\x7f]*[/:][\x00-\x7f]*$/

const q = Type.String({
  pattern: '\\S',
  maxLength: MAX_URL,
  description:
    'a height, a hash, a txid or an address; also in quotes, in a URL of this explorer or in a payment URI',
  allowed: `1 to ${String(MAX_TEXT)} characters, not all of them spaces; a URL may have ${String(MAX_URL)}`,
})

/** The search for a height, block hash, txid or address. The value of the answer is its canonical spelling. */
export const search = declareRead({
  name: 'search',
  about: 'The block, transaction or address that a text identifies.',
  path: '/search',
  fresh: 'objects',
  args: { q },
  answer: SearchResult,
  notFound: ['Nothing matches'],
  async resolve(context, { q: query }) {
    if (query.length > MAX_TEXT && !URL_LIKE.test(query)) throw badArgument('q', q)
    const text = searchText(query)
    const isHeight = /^\d{1,10}$/.test(text)
    const isHash = /^[0-9a-f]{64}$/i.test(text)
    const match = isHeight
      ? await matchBlock(text, context)
      : isHash
        ? await matchHash(text.toLowerCase(), context)
        : await matchAddress(text, context)
    if (match !== undefined) return { ...match, query }
    const namesNothing = !isHeight && !isHash && scriptOf(context, text) === undefined
    throw new NotFound('Nothing matches', isHeight ? Number(text) : namesNothing ? NEVER : 0)
  },
})

type Match = Omit<SearchResult, 'query'>

async function matchBlock(
  which: string,
  { chain, tables, validity }: ReadContext,
): Promise<Match | undefined> {
  const block = await findBlock(tables, chain, which)
  if (block === undefined) return undefined
  validity.dependsOn(block.row.hash)
  return { type: 'block', value: block.row.hash }
}

async function matchHash(hash: string, context: ReadContext): Promise<Match | undefined> {
  const { chain, tables, mempool, validity } = context
  validity.dependsOn(hash)
  if (mempool.get(hash) !== undefined) return { type: 'transaction', value: hash }
  const [block, txs] = await Promise.all([
    matchBlock(hash, context),
    confirmationsByTxid(tables, chain.blocks, [hash]),
  ])
  if (block !== undefined) return block
  return txs.has(hash) ? { type: 'transaction', value: hash } : undefined
}

async function matchAddress(text: string, context: ReadContext): Promise<Match | undefined> {
  const requested = scriptOf(context, text)
  if (requested === undefined || context.chain.network === undefined) return undefined
  context.validity.dependsOn(requested.scriptHash)
  const isInMempool = context.mempool.ofScript(requested.scriptHash).length > 0
  if (!isInMempool && (await lastOfScript(context, requested.scriptHash)) === undefined) return undefined
  return { type: 'address', value: addressOf(requested.script, requested.network) ?? text }
}
