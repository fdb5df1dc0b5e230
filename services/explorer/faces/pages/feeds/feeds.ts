import { isoTime } from '../../../../../pipelines/chain/time.js'
import { addressTransactions } from '../../../core/reads/addresses/addresses.js'
import { address, limit } from '../../../core/reads/arguments.js'
import { block, blocks } from '../../../core/reads/chain/blocks.js'
import { reorgs } from '../../../core/reads/chain/reorgs.js'
import { briefWhaleAlerts, WHALE_VALUE } from '../../../core/reads/mempool/whales.js'
import { type Arguments, networkIn } from '../../../core/reads/read.js'
import { requestedScript } from '../../../core/reads/script.js'
import type { WhaleAlert } from '../../../core/reads/shapes.js'
import { blockFigures } from '../components/blocks.js'
import { feedPathOf } from '../layout.js'
import { type Args, declareText, type Page, type PageContext, type Surroundings } from '../page.js'
import { atom, type Entry } from './atom.js'

/** The content of a feed. */
interface Listed {
  readonly title: string
  /** The path of the page that has the same entries. */
  readonly path: string
  /** The arguments that select the entries, as in a URL. Not set: none. */
  readonly query?: string
  /** Words that name the feed among those of its chain, and never change. */
  readonly of: readonly string[]
  readonly entries: readonly Entry[]
}

interface FeedDeclaration<A extends Arguments> {
  /** The path of the page that has the same entries. */
  readonly path: string
  readonly args: A
  readonly list: (page: PageContext, args: Args<A>) => Promise<Listed>
}

/** Declares a feed at the path of its page with `.atom` at its end. */
const declareFeed =
  <A extends Arguments>({ path, args, list }: FeedDeclaration<A>) =>
  ({ assets }: Surroundings): Page =>
    declareText({
      name: `feed of ${path}`,
      path: feedPathOf(path),
      args,
      at: (target) => assets.origin + assets.at(target),
      async text(context, given) {
        const { chain, t, to } = context
        const network = networkIn(context)
        const { title, path, query = '', of, entries } = await list(context, given)
        const chainName = chain.height < 0 ? network.genesisHash : chain.blocks.hashAt(0)
        return atom({
          of: [chainName, ...of],
          language: t.lang,
          title: `${title} · ${t.site.name}`,
          author: t.site.name,
          page: to(path),
          self: to(feedPathOf(path)) + query,
          since: isoTime(chain.height < 0 ? 0 : chain.blocks.timeAt(0)),
          entries: entries.map((entry) => ({ ...entry, of: [chainName, ...entry.of] })),
        })
      },
    })

const newestBlocks = declareFeed({
  path: '/blocks',
  args: { limit: limit(30, 100) },
  async list(context, { limit }) {
    const { t, f, to, read } = context
    const { items } = await read(blocks, { limit })
    const entries = items.map((item) => ({
      of: ['block', item.hash],
      title: t.block.title(f.number(item.height)),
      summary: blockFigures(context, item),
      updated: item.timestamp,
      url: to(`/block/${item.hash}`),
    }))
    return { title: t.blocks.title, path: '/blocks', of: ['blocks'], entries }
  },
})

const ofAddress = declareFeed({
  path: '/address/:address',
  args: { address, limit: limit(25, 100) },
  async list(context, { address: requested, limit }) {
    const { t, f, to, read, definitions } = context
    const { scriptHash } = await requestedScript(context, requested)
    const label = definitions.labels.ofScript(scriptHash)?.label
    const { items } = await read(addressTransactions, { address: requested, limit })
    const entries = items.map(({ txid, block_height, value_change, timestamp }) => ({
      of: ['change', scriptHash, txid],
      title: `${value_change.startsWith('-') ? '' : '+'}${f.plainAmount(value_change)}`,
      summary: placeOf(context, block_height),
      updated: timestamp,
      url: to(`/tx/${txid}`),
    }))
    const path = `/address/${encodeURIComponent(requested)}`
    return { title: label ?? `${t.address.title} ${requested}`, path, of: ['address', scriptHash], entries }
  },
})

const largeTransactions = declareFeed({
  path: '/large',
  args: { limit: limit(50, 100), minValue: briefWhaleAlerts.args.minValue },
  async list(context, { limit, minValue }) {
    const { t, f, to, read } = context
    const { items } = await read(briefWhaleAlerts, { limit, minValue })
    const entries = items.map((item) => ({
      of: ['large', item.txid],
      title: f.plainAmount(item.value),
      summary: [partiesOf(context, item), placeOf(context, item.block_height)].join(' '),
      updated: item.timestamp,
      url: to(`/tx/${item.txid}`),
    }))
    const query = minValue === String(WHALE_VALUE) ? '' : `?minValue=${minValue}`
    return { title: t.large.title, path: '/large', query, of: ['large', minValue], entries }
  },
})

const replacedBranches = declareFeed({
  path: '/reorgs',
  args: { limit: limit(20, 100) },
  async list(context, { limit }) {
    const { read, t, f, to } = context
    const entries = await Promise.all(
      (await read(reorgs, { limit })).items.map(
        async ({ seq, fork_height, depth, disconnected, connected }) => {
          const [replaced = ''] = disconnected.map(({ hash }) => hash)
          const newest = connected.at(-1)?.hash
          // The time of a reorganisation is that of the newest block of its new branch.
          const { timestamp } = await read(block, { heightOrHash: newest ?? replaced })
          return {
            // The chain may return to a branch.
            of: ['reorg', String(seq), replaced, newest ?? ''],
            title: t.sharing.reorg(f.number(depth), f.number(fork_height)),
            summary:
              newest === undefined
                ? t.sharing.removed(replaced)
                : t.sharing.replaced(replaced, newest, f.number(connected.length)),
            updated: timestamp,
            url: to(`/block/${replaced}`),
          }
        },
      ),
    )
    return { title: t.reorgs.title, path: '/reorgs', of: ['reorgs'], entries }
  },
})

/** The feeds. */
export const FEEDS = [newestBlocks, ofAddress, largeTransactions, replacedBranches] as const

const placeOf = ({ t, f }: PageContext, height: number | null): string =>
  height === null ? t.sharing.waits : t.sharing.inBlock(f.number(height))

/** Returns the largest sender and recipient of a transaction, by their labels if they have one. */
function partiesOf({ t }: PageContext, { from, to }: Pick<WhaleAlert, 'from' | 'to'>): string {
  const nameOf = ([largest]: WhaleAlert['from']): string =>
    largest?.label ?? largest?.address ?? largest?.script?.scripthash ?? t.words.unknown
  return t.sharing.fromTo(nameOf(from), nameOf(to))
}
