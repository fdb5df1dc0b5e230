import { Type } from '@sinclair/typebox'
import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { scriptHash as hashOf } from '../../../../pipelines/chain/script.js'
import { readTx } from '../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../../core/mempool/shown-tx.js'
import { SHORTEST_PREFIX } from '../../core/reads/chain/search-prefix.js'
import { unspentWithMempool } from '../../core/reads/addresses/unspent.js'
import { type Arguments, declareRead, networkIn, type Read, type ReadContext } from '../../core/reads/read.js'
import { lastOfScript, type NamedScript } from '../../core/reads/script.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { addressesFrom } from '../../core/tables/beginnings.js'
import { hashIn, scriptOfAddress, scriptOfScriptHash, text } from './arguments.js'
import { firstPage, type HistoryTx, pageAfter } from './histories.js'
import { UNCONFIRMED } from './transaction-json.js'
import { statusAt, transactionsOfBlocks, unconfirmed } from './transaction-rows.js'

/** The number of unconfirmed transactions of a history. */
export const MAX_UNCONFIRMED = 50
/** The number of transactions of a page of summaries. */
const SUMMARIES = 5_000
/** About the characters of an unspent output, at most. */
const UTXO_CHARACTERS = 300

/** A way to name a script in a path. */
interface Naming {
  /** The first segment of the path, and the field of the summary with the name. */
  readonly segment: 'address' | 'scripthash'
  /** Returns the script. @throws BadArgument. */
  readonly script: (context: ReadContext, name: string) => NamedScript | Promise<NamedScript>
}

const NAMINGS: readonly Naming[] = [
  { segment: 'address', script: scriptOfAddress },
  { segment: 'scripthash', script: scriptOfScriptHash },
]

interface Stats {
  readonly funded_txo_count: number
  readonly funded_txo_sum: number
  readonly spent_txo_count: number
  readonly spent_txo_sum: number
  readonly tx_count: number
}

/** Returns the totals of a script in the chain. */
async function chainStats(context: ReadContext, scriptHash: string): Promise<Stats> {
  const last = await lastOfScript(context, scriptHash)
  const funded = last?.fundedCount ?? 0
  return {
    funded_txo_count: funded,
    funded_txo_sum: Number(last?.totalReceived ?? 0n),
    spent_txo_count: funded - (last?.unspentCount ?? 0),
    spent_txo_sum: Number(last?.totalSent ?? 0n),
    tx_count: last?.ordinal ?? 0,
  }
}

/** Returns the totals of a script in unconfirmed transactions. */
function mempoolStats(txs: readonly ShownTx[], scriptHash: string): Stats {
  const isOf = ({ script }: { readonly script: Buffer }): boolean => hashOf(script) === scriptHash
  const funded = txs.flatMap(({ raw }) => readTx(new ByteReader(raw)).outputs.filter(isOf))
  const spent = txs.flatMap(({ coins }) => coins.filter((coin) => coin !== undefined && isOf(coin)))
  const sum = (coins: readonly ({ readonly value: bigint } | undefined)[]): number =>
    Number(coins.reduce((total, coin) => total + (coin?.value ?? 0n), 0n))
  return {
    funded_txo_count: funded.length,
    funded_txo_sum: sum(funded),
    spent_txo_count: spent.length,
    spent_txo_sum: sum(spent),
    tx_count: txs.length,
  }
}

/** Returns the unconfirmed transactions of a script as JSON, newest first, at most 50. */
const unconfirmedOf = (txs: readonly ShownTx[]): readonly string[] =>
  txs.slice(0, MAX_UNCONFIRMED).map(unconfirmed)

/** Returns confirmed transactions of a script as JSON: what they change, and where they are. */
async function summariesOf(txs: readonly HistoryTx[], context: ReadContext): Promise<readonly string[]> {
  await context.size.reserve(UTXO_CHARACTERS * txs.length)
  const { blocks } = context.chain
  return txs.map(
    ({ txid, change, height, txIndex }) =>
      `{"txid":"${txid}","value":${String(change)},"height":${String(height)},` +
      `"time":${String(blocks.timeAt(height))},"tx_position":${String(txIndex)}}`,
  )
}

/** Returns a list as JSON; an empty one as it is, for `emptyFrom`. */
export const listOf = (items: readonly string[]): WrittenAnswer<unknown[]> | unknown[] =>
  items.length === 0 ? [] : new WrittenAnswer(`[${items.join(',')}]`)

/** Implements `emptyFrom` for lists to which a block at any height may add items. */
export const emptyList = (_: unknown, answer: unknown): number | undefined =>
  Array.isArray(answer) && answer.length === 0 ? 0 : undefined

/** Returns the reads of the scripts that a naming names. */
function readsOf({ segment, script }: Naming) {
  const path = `/${segment}/:name`
  const args = { name: text(segment) }
  const isOf = (suffix: string): string => `esplora-${segment}${suffix}`
  const named = async (context: ReadContext, name: string): Promise<NamedScript> => {
    const requested = await script(context, name)
    context.validity.dependsOn(requested.scriptHash)
    return requested
  }
  const list = (
    suffix: string,
    further: Arguments,
    resolve: (
      context: ReadContext,
      requested: NamedScript,
      args: Readonly<Partial<Record<string, string>>>,
    ) => Promise<readonly string[]>,
  ): Read =>
    declareRead({
      name: isOf(suffix),
      path: path + suffix,
      fresh: 'objects',
      args: { ...args, ...further },
      answer: Type.Array(Type.Unknown()),
      emptyFrom: emptyList,
      resolve: async (context, values) => {
        const given = values as Readonly<Partial<Record<string, string>>>
        return listOf(await resolve(context, await named(context, given['name'] ?? ''), given))
      },
    })
  const summary = declareRead({
    name: isOf(''),
    path,
    fresh: 'objects',
    args,
    answer: Type.Object({ chain_stats: Type.Unknown(), mempool_stats: Type.Unknown() }),
    emptyFrom: (_, { chain_stats, mempool_stats }) =>
      (chain_stats as Stats).tx_count + (mempool_stats as Stats).tx_count === 0 ? 0 : undefined,
    async resolve(context, { name }) {
      const { scriptHash } = await named(context, name)
      return {
        [segment]: name,
        chain_stats: await chainStats(context, scriptHash),
        mempool_stats: mempoolStats(context.mempool.ofScript(scriptHash), scriptHash),
      }
    },
  })
  const confirmed = (context: ReadContext, { scriptHash }: NamedScript, after?: string) =>
    after === undefined ? firstPage(context, scriptHash) : pageAfter(context, scriptHash, hashIn(after))
  return [
    summary,
    list(
      '/txs',
      { after_txid: Type.Optional(text('the last transaction that is known')) },
      async (context, requested, { after_txid: after }) => {
        const { scriptHash } = requested
        const inMempool = context.mempool.ofScript(scriptHash)
        const place =
          after === undefined ? -1 : inMempool.findIndex(({ txid }) => txid === after.toLowerCase())
        const isConfirmed = after !== undefined && place < 0
        const located = await confirmed(context, requested, isConfirmed ? after : undefined)
        const newer = isConfirmed ? [] : unconfirmedOf(inMempool.slice(place + 1))
        return [...newer, ...(await transactionsOfBlocks(located, context))]
      },
    ),
    list('/txs/chain', {}, async (context, requested) =>
      transactionsOfBlocks(await confirmed(context, requested), context),
    ),
    list(
      '/txs/chain/:last',
      { last: text('the last transaction of the page before') },
      async (context, requested, { last }) =>
        transactionsOfBlocks(await confirmed(context, requested, isHash(last) ? last : undefined), context),
    ),
    list('/txs/summary', {}, async (context, { scriptHash }) =>
      summariesOf(await firstPage(context, scriptHash, SUMMARIES), context),
    ),
    list(
      '/txs/summary/:last',
      { last: text('the last transaction of the page before') },
      async (context, { scriptHash }, { last = '' }) =>
        summariesOf(await pageAfter(context, scriptHash, hashIn(last), SUMMARIES), context),
    ),
    list('/txs/mempool', {}, (context, { scriptHash }) =>
      Promise.resolve(unconfirmedOf(context.mempool.ofScript(scriptHash))),
    ),
    list('/utxo', {}, async (context, requested) => {
      const { outputs } = await unspentWithMempool(context, requested, {
        limit: Number.MAX_SAFE_INTEGER,
        offset: 0,
      })
      await context.size.reserve(UTXO_CHARACTERS * outputs.length)
      return outputs.map(({ txid, vout, height, value }) => {
        const status = height === null ? UNCONFIRMED : statusAt(height, context.chain)
        return `{"txid":"${txid}","vout":${String(vout)},"status":${status},"value":${value}}`
      })
    }),
  ]
}

/** The reference server takes a malformed txid of the page before for none. */
const isHash = (txid: string | undefined): boolean => /^[0-9a-f]{64}$/i.test(txid ?? '')

/** The number of addresses of a search. */
const MOST_FOUND = 10

/** Addresses that begin with a text; none for a beginning that is too short, or is no beginning of an address. */
export const prefixSearch = declareRead({
  name: 'esploraAddressPrefix',
  path: '/address-prefix/:prefix',
  fresh: 'head',
  args: { prefix: text('beginning of an address') },
  answer: Type.Array(Type.String()),
  async resolve(context, { prefix }) {
    const { tables, chain } = context
    if (!/^[0-9a-zA-Z]{1,100}$/.test(prefix)) return []
    const sought = { text: prefix, least: SHORTEST_PREFIX, most: MOST_FOUND }
    return [...(await addressesFrom(tables, { blocks: chain.blocks, network: networkIn(context) }, sought))]
  },
})

export const ADDRESS_READS = NAMINGS.flatMap(readsOf)
