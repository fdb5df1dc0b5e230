import { type Static, Type } from '@sinclair/typebox'
import { decodeAddress } from '../../../../pipelines/chain/address.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { heightIn, search } from '../../core/reads/chain/search.js'
import { searchPrefix, SHORTEST_PREFIX } from '../../core/reads/chain/search-prefix.js'
import { searchText, timeIn } from '../../core/reads/chain/search-text.js'
import { BadArgument, declareRead, NotFound, type ReadContext } from '../../core/reads/read.js'
import type { PrefixMatch, SearchResult } from '../../core/reads/shapes.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { isWalletText } from '../../core/wallets/wallet-text.js'
import { inLanguage, MESSAGES } from './language.js'
import { explain } from './query.js'
import { escapeHtml } from '../../../design/html.js'
import { SUGGESTIONS } from './layout.js'
import { formatOf, languageOfLocale } from './locales.js'
import { localeArgument } from './page.js'

/** The maximum number of labels, of mining pools, and of blocks, transactions and addresses that begin as the query. */
const MOST = 8

const q = Type.String({ maxLength: 1000, default: '' })

/** An item of the search, as the documentation's search returns them. A note explains the query. */
const Suggestion = Type.Object({
  type: Type.Union([Type.Literal('page'), Type.Literal('note')]),
  url: Type.String(),
  /** HTML. */
  content: Type.String(),
  breadcrumbs: Type.Optional(Type.Array(Type.String())),
  /** True for the object that the query names completely; false for what the query does not name. */
  isExact: Type.Optional(Type.Boolean()),
})
type Suggestion = Static<typeof Suggestion>
export type Suggestions = readonly Suggestion[]

/** The possible meanings of a query, while it is being typed. */
export const suggestions = declareRead({
  name: 'page suggestions',
  path: SUGGESTIONS,
  fresh: 'mempool',
  args: { q, locale: localeArgument, base: Type.String({ default: '' }) },
  answer: Type.Array(Suggestion),
  async resolve(context, { q, locale, base }) {
    const text = searchText(q)
    const lang = languageOfLocale(locale)
    const t = MESSAGES[lang]
    const { chain, definitions } = context
    const f = formatOf(locale, chain.network)
    const item = (kind: string, path: string, content: string): Suggestion => {
      return {
        type: 'page',
        url: base + inLanguage(lang, path),
        content: escapeHtml(content),
        breadcrumbs: [kind],
      }
    }
    if (text === '') return []
    if (isWalletText(q))
      return [
        item(t.nav.pages, '/wallet', t.nav.wallet),
        { type: 'note' as const, url: '', content: t.search.wallet },
      ]
    const label = q.trim().toLowerCase()
    const labelled = definitions.labels
      .all()
      .filter((each) => each.label.toLowerCase().includes(label))
      .slice(0, MOST)
      .map(({ label, category, address }) => item(category, `/address/${address}`, label))
    const poolName = text.toLowerCase()
    const pools = definitions.pools.all
      .filter(({ name, slug }) => name.toLowerCase().includes(poolName) || slug === poolName)
      .map(({ name, slug }) => {
        const isNamed = name.toLowerCase() === poolName || slug === poolName
        const isExact = isNamed && labelled.length === 0
        return { ...item(t.mining.pool, `/mining/pool/${encodeURIComponent(slug)}`, name), isExact }
      })
      .sort((one, other) => Number(other.isExact) - Number(one.isExact))
      .slice(0, MOST)
    const [height, time] = [heightIn(text, context), timeIn(text)]
    const [match, prefixMatches, left] = await Promise.all([
      matchOf(context, text),
      beginning(context, text),
      leftBeginning(context, text),
    ])
    const exact =
      match === undefined
        ? isUnused(text, chain.network)
          ? [item(t.words.address, `/address/${text}`, text)]
          : left.includes(text.toLowerCase())
            ? [item(t.words.transaction, `/tx/${text.toLowerCase()}`, text)]
            : []
        : [
            {
              block: () =>
                height === undefined
                  ? item(t.words.block, `/block/${match.value}`, match.value)
                  : item(
                      time === undefined ? t.words.block : t.search.firstFrom(f.utc(time)),
                      `/block/${String(height)}`,
                      t.search.height(f.number(height)),
                    ),
              transaction: () => item(t.words.transaction, `/tx/${match.value}`, match.value),
              address: () => item(t.words.address, `/address/${text}`, text),
              script: () => item(t.words.script, `/address/${text}`, text),
            }[match.type](),
          ]
    const items = [
      ...exact.map((each) => ({ ...each, isExact: true })),
      ...pools,
      ...labelled,
      ...prefixMatches
        .filter(({ value }) => value !== match?.value)
        .map(({ type, value, confirmed }) =>
          item(confirmed ? t.words[type] : t.search.unconfirmed, `/${PATHS[type]}/${value}`, value),
        ),
      ...left
        .filter((txid) => txid !== text.toLowerCase() && !prefixMatches.some(({ value }) => value === txid))
        .map((txid) => item(t.errors.noLonger, `/tx/${txid}`, txid)),
    ]
    if (items.length > 0) return items
    const pageContext = { t, f, height: chain.height, network: chain.network }
    const note = { type: 'note' as const, url: '', content: explain(q, pageContext) }
    if (!isWords(q)) return [note]
    const path = `/op-returns?${new URLSearchParams({ q: q.trim() }).toString()}`
    return [{ ...item(t.opReturns.within, path, q.trim()), isExact: false }, note]
  },
})

/** Returns the txids of transactions that have left the mempool without a block and begin as a query. */
async function leftBeginning({ dropped }: ReadContext, q: string): Promise<string[]> {
  if (q.length < SHORTEST_PREFIX || !/^[0-9a-f]{1,64}$/i.test(q)) return []
  return dropped.beginningWith(q.toLowerCase(), MOST)
}

/** Returns whether a text may be one that a transaction has stored: neither a number nor a part of a hash or an address. */
const isWords = (q: string): boolean =>
  /^.{3,100}$/su.test(q.trim()) && /\p{L}/u.test(q) && !/^[\da-z]{20,}$/i.test(q.trim())

/** Returns whether a text is an address of the chain; one without a match has never been used. */
const isUnused = (text: string, network: Network | undefined): boolean =>
  network !== undefined && decodeAddress(text, network) !== undefined

const PATHS = { block: 'block', transaction: 'tx', address: 'address', script: 'address' } as const

/** Returns what begins as a query. */
async function beginning(context: ReadContext, q: string): Promise<Static<typeof PrefixMatch>[]> {
  if (q.length < SHORTEST_PREFIX || !/^[0-9a-z]{1,100}$/i.test(q)) return []
  const answer = await searchPrefix.resolve(context, { q, limit: MOST })
  return (answer instanceof WrittenAnswer ? answer.parse() : answer).items
}

/** Returns the block, transaction or address that a query names exactly; undefined if it names none. */
async function matchOf(context: ReadContext, q: string): Promise<Static<typeof SearchResult> | undefined> {
  try {
    const answer = await search.resolve(context, { q })
    return answer instanceof WrittenAnswer ? answer.parse() : answer
  } catch (error) {
    if (error instanceof NotFound || error instanceof BadArgument) return undefined
    throw error
  }
}
