import { Type } from '@sinclair/typebox'
import { html, type Html } from '../../../../../design/html.js'
import { addressSummaries } from '../../../../core/reads/addresses/summary.js'
import { block as blockRead } from '../../../../core/reads/chain/blocks.js'
import { transactionStatus } from '../../../../core/reads/chain/transaction-details.js'
import { NotFound } from '../../../../core/reads/read.js'
import { scriptOf } from '../../../../core/reads/script.js'
import type { AddressSummary } from '../../../../core/reads/shapes.js'
import {
  addressLink,
  badge,
  empty,
  hashLink,
  heading,
  notice,
  section,
  txLink,
  watchButton,
} from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage, type PageContext } from '../../page.js'

/** The most lines of a list. A request counts as one for each twenty. */
const MOST = 100
const PER_REQUEST = 20
const MAX_CHARACTERS = 30_000

/** A line of a list: what is watched, a label, and its state when the reader saw it last. */
interface Watched {
  readonly id: string
  readonly label: string
  readonly seen: string
}

/** Returns the lines of a list: an address, txid or block hash, then its label; the script adds the last seen state after tabs. */
const linesOf = (list: string): Watched[] => {
  const lines = new Map<string, Watched>()
  for (const line of list.split(/\r?\n/)) {
    const [text = '', seen = ''] = line.split('\t')
    const [id = '', ...words] = text.trim().split(/\s+/)
    if (id !== '' && lines.size < MOST) lines.set(id, { id, label: words.join(' '), seen: seen.trim() })
  }
  return [...lines.values()]
}

const list = Type.String({ default: '', maxLength: MAX_CHARACTERS })

/**
 * The addresses, transactions and blocks that a reader watches. The list is only in the browser: each request sends it, and nothing of it is
 * kept. Without a script it is typed.
 */
export const watch = declarePage({
  name: 'watch',
  path: '/watch',
  isPrivate: true,
  args: { list },
  cost: (args) => Math.max(1, Math.ceil(linesOf(args.list).length / PER_REQUEST)),
  async view(page, { list }) {
    const { t } = page
    const lines = linesOf(list)
    const rows = await rowsOf(page, lines)
    const columns = [
      { title: t.words.label },
      { title: t.watch.watched },
      { title: t.watch.state },
      { title: t.watch.change },
    ]
    const shown = rows.length === 0 ? empty(t.watch.none) : table(t.watch.title, columns, rows)
    const body = html`${heading(t.watch.title, t.watch.about)} ${notice(t.watch.privacy)}
      <div class="watched">${shown}</div>
      ${section(t.watch.list, form(page, lines))}`
    return { title: t.watch.title, body, channels: ['mempool'] }
  },
})

/** Returns the form that sends the list. The script fills it in, and saves what is typed. */
const form = ({ t, to }: PageContext, lines: readonly Watched[]): Html =>
  html`<form class="live watch wallet" method="post" action="${to('/watch')}" autocomplete="off">
    <label
      >${t.watch.lines}
      <textarea name="list" rows="6" maxlength="${MAX_CHARACTERS}" spellcheck="false" autocapitalize="off">
${lines.map(({ id, label, seen }) => `${id}${label === '' ? '' : ` ${label}`}${seen === '' ? '' : `\t${seen}`}`).join('\n')}</textarea>
    </label>
    <button>${t.watch.show}</button>
    <a class="export" download="watch-list.txt" hidden>${t.watch.save}</a>
  </form>`

interface Shown {
  readonly what: Html
  readonly state: Html | string
  /** The state as a word, which the browser keeps until the next visit. */
  readonly now: string
  readonly change?: Html | string
}

async function rowsOf(page: PageContext, lines: readonly Watched[]) {
  const hashes = lines.filter(({ id }) => /^[\da-f]{64}$/i.test(id))
  const others = lines.filter((line) => !hashes.includes(line))
  const known = others.filter(({ id }) => scriptOf(page, id) !== undefined)
  const { items } =
    known.length === 0
      ? { items: [] }
      : await page.read(addressSummaries, { addresses: known.map(({ id }) => id) })
  const summaries = new Map(items.map(({ address, summary }) => [address, summary]))
  const rows = await Promise.all(
    lines.map(async (line) => {
      const shown = hashes.includes(line)
        ? await hashShown(page, line)
        : summaries.has(line.id)
          ? addressShown(page, line, summaries.get(line.id) ?? undefined)
          : { what: html`<code>${line.id}</code>`, state: page.t.watch.unknown, now: '' }
      return {
        id: `w-${line.id}`,
        cells: [
          line.label,
          html`<span class="of" data-id="${line.id}" data-now="${shown.now}">${shown.what}</span>
            ${watchButton(page, line.id, line.label)}`,
          shown.state,
          line.seen === '' || line.seen === shown.now ? '' : (shown.change ?? page.t.watch.changed),
        ],
      }
    }),
  )
  return rows
}

/** Returns an address; its state is its balance, unconfirmed changes included, and the number of its transactions. */
function addressShown(page: PageContext, { id, seen }: Watched, summary: AddressSummary | undefined): Shown {
  const { f } = page
  const what = addressLink(page, id)
  const { unconfirmed } = summary ?? { unconfirmed: undefined }
  const balance = BigInt(summary?.balance ?? 0) + BigInt(unconfirmed?.balance_change ?? 0)
  const count = (summary?.tx_count ?? 0) + (unconfirmed?.tx_count ?? 0)
  const before = /^(-?\d+)\/\d+$/.exec(seen)?.[1]
  const change = before === undefined ? undefined : balance - BigInt(before)
  return {
    what,
    state: html`${f.amount(String(balance))} <small>${page.t.words.txs(f.number(count))}</small>`,
    now: `${String(balance)}/${String(count)}`,
    ...(change === undefined ? {} : { change: f.amount(String(change), true) }),
  }
}

async function hashShown(page: PageContext, { id }: Watched): Promise<Shown> {
  const { t, f, read, mempool } = page
  const hash = id.toLowerCase()
  const tx =
    mempool.get(hash) === undefined
      ? await read(transactionStatus, { txid: hash }).catch(whereKnown)
      : undefined
  if (mempool.get(hash) !== undefined)
    return {
      what: txLink(page, hash),
      state: badge('wait', t.words.unconfirmed),
      now: 'mempool',
      change: t.words.unconfirmed,
    }
  if (tx !== undefined && tx.block_height !== null) {
    const state = badge('good', t.tx.confirmed(f.number(page.chain.height - tx.block_height + 1)))
    return {
      what: txLink(page, hash),
      state,
      now: `block ${String(tx.block_height)}`,
      change: t.sharing.inBlock(f.number(tx.block_height)),
    }
  }
  const found = await read(blockRead, { heightOrHash: hash }).catch(whereKnown)
  if (found === undefined) return { what: txLink(page, hash), state: t.watch.unknown, now: 'unknown' }
  const state = found.canonical ? t.block.title(f.number(found.height)) : badge('stale', t.block.staleBadge)
  return { what: hashLink(page, hash), state, now: found.canonical ? 'chain' : 'stale' }
}

function whereKnown(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error
}
