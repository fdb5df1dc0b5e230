import { Type } from '@sinclair/typebox'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { otherKeyScripts } from '../../../../../pipelines/chain/keys/public-key.js'
import { electrumHashOf } from '../../../../../pipelines/chain/script.js'
import { badArgument } from '../arguments.js'
import { findBlock } from './block-rows.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../read.js'
import { confirmationsByTxid } from '../../tables/transactions.js'
import { lastOfScript, type NamedScript, namedScript, requestedScript, scriptOf } from '../script.js'
import { SearchResult } from '../shapes.js'
import { searchText, timeIn } from './search-text.js'

/** The maximum length of a text that is no URL or URI. */
const MAX_TEXT = 100
/** The maximum length of a URL, URI or script: percent-encoded, its request line still fits into one TCP segment. */
const MAX_URL = 380
/** ASCII that may be a URL, a URI or hexadecimal. */
// eslint-disable-next-line no-control-regex -- includes the line break after a pasted text
const URL_LIKE = /^(?:[\x00-\x7f]*[/:][\x00-\x7f]*|[\da-f]*)$/i

const q = Type.String({
  pattern: '\\S',
  maxLength: MAX_URL,
  description:
    'a height, a date or time, a hash, a txid, an address, or in hexadecimal a public key, a script or its script hash; also in quotes, in a URL of an explorer or in a payment URI',
  allowed: `1 to ${String(MAX_TEXT)} characters, not all of them spaces; a URL, a public key or a script may have ${String(MAX_URL)}`,
})

/** The search for a height, time, block hash, txid, address or script. The value of the answer is its canonical spelling. */
export const search = declareRead({
  name: 'search',
  about: 'The block, transaction, address or script that a text identifies.',
  path: '/search',
  fresh: 'objects',
  args: { q },
  answer: SearchResult,
  notFound: ['Nothing matches'],
  async resolve(context, { q: query }) {
    if (query.length > MAX_TEXT && !URL_LIKE.test(query)) throw badArgument('q', q)
    const text = searchText(query)
    const height = heightIn(text, context)
    const isHash = /^[0-9a-f]{64}$/i.test(text)
    const object =
      height !== undefined
        ? await matchBlock(String(height), context)
        : isHash
          ? await matchHash(text.toLowerCase(), context)
          : undefined
    const match = object ?? (await matchScript(text, context))
    if (match !== undefined) return { ...match, query }
    const namesNothing = height === undefined && !isHash && scriptOf(context, text) === undefined
    throw new NotFound('Nothing matches', height ?? (namesNothing ? NEVER : 0))
  },
})

/**
 * Returns the height that a text names: itself, or that of the first block at or after a time, which is the next height if no block is
 * that new; undefined if it is neither a height nor a time.
 * @param text of `searchText`.
 */
export function heightIn(text: string, { chain }: Pick<ReadContext, 'chain'>): number | undefined {
  const time = timeIn(text)
  if (time !== undefined) return chain.blocks.firstFrom(time) ?? chain.height + 1
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

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

/** Returns the address or script that a text names; of a public key its own script, or else the first of its addresses, that is known. */
async function matchScript(text: string, context: ReadContext): Promise<Match | undefined> {
  const named = scriptOf(context, text)
  if (named === undefined || context.chain.network === undefined) return undefined
  const own = await knownScript(context, await requestedScript(context, text))
  if (own !== undefined || !/^[\da-f]+$/i.test(text)) return own
  const others = otherKeyScripts(Buffer.from(text, 'hex'), named.network)
  const matches = await Promise.all(
    others.map((script) => knownScript(context, namedScript(script, named.network))),
  )
  return matches.find((match) => match !== undefined)
}

/** Returns a script as a result, if chain or mempool contain it. */
async function knownScript(context: ReadContext, requested: NamedScript): Promise<Match | undefined> {
  const { script, scriptHash, network } = requested
  context.validity.dependsOn(scriptHash)
  const isInMempool = context.mempool.ofScript(scriptHash).length > 0
  if (!isInMempool && (await lastOfScript(context, scriptHash)) === undefined) return undefined
  if (script === undefined) throw new Error(`table scripts lacks script ${scriptHash}`)
  const address = addressOf(script, network)
  return address === undefined
    ? { type: 'script', value: electrumHashOf(script) }
    : { type: 'address', value: address }
}
