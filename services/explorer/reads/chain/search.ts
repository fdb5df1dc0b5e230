import { Type } from '@sinclair/typebox'
import { addressOf } from '../../../../pipelines/chain/address.js'
import { findBlock } from './block-rows.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../read.js'
import { confirmationsByTxid } from '../../tables/transactions.js'
import { lastOfScript, scriptOf } from '../addresses/script.js'
import { SearchResult } from '../shapes.js'

/** The search for a height, block hash, txid or address. The value of the answer is its canonical spelling. */
export const search = declareRead({
  name: 'search',
  about: 'The block, transaction or address that a text identifies.',
  path: '/search',
  fresh: 'objects',
  args: {
    q: Type.String({
      pattern: '\\S',
      maxLength: 100,
      description: 'a height, a hash, a txid or an address',
      allowed: '1 to 100 characters, not all of them spaces',
    }),
  },
  answer: SearchResult,
  notFound: ['Nothing matches'],
  async resolve(context, { q }) {
    const text = q.trim()
    const isHeight = /^\d{1,10}$/.test(text)
    const isHash = /^[0-9a-f]{64}$/i.test(text)
    const found = isHeight
      ? await matchBlock(text, context)
      : isHash
        ? await matchHash(text.toLowerCase(), context)
        : await matchAddress(text, context)
    if (found !== undefined) return { ...found, query: q }
    const namesNothing = !isHeight && !isHash && scriptOf(context, text) === undefined
    throw new NotFound('Nothing matches', isHeight ? Number(text) : namesNothing ? NEVER : 0)
  },
})

type Match = Omit<SearchResult, 'query'>

async function matchBlock(
  which: string,
  { chain, tables, validity }: ReadContext,
): Promise<Match | undefined> {
  const found = await findBlock(tables, chain, which)
  if (found === undefined) return undefined
  validity.dependsOn(found.row.hash)
  return { type: 'block', value: found.row.hash }
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
