import { html, type Html } from '../../../../../design/html.js'
import type { BriefTransaction } from '../../../../core/reads/shapes.js'
import type { PageContext } from '../../page.js'
import { bandNames, bandOf, SHOWN_BANDS } from './rate-bands.js'
import { type Rectangle, squarified } from './treemap.js'

const WIDTH = 1_000
const HEIGHT = 400
/** The part of all transactions below which one has no cell of its own: it would be too small to point at. */
const LEAST = 0.0012

export interface BlockMapOptions {
  /** The txids of transactions that were not expected in the block. */
  readonly added?: ReadonlySet<string>
  /** The URL of the list of all transactions, to which the cell of the small ones leads. */
  readonly all: string
}

interface Cell {
  readonly vsize: number
  /** Undefined for the small transactions of a band together. */
  readonly tx?: BriefTransaction
  readonly count: number
}

interface PlacedCell extends Cell {
  readonly place: Rectangle
}

/**
 * Returns a picture of the transactions of a block: the area of a cell is the size of its transaction, its colour is the fee rate. Each
 * cell is a link. The small transactions of a band are one cell, so that the areas of the bands are exact.
 * @param txs without the coinbase.
 */
export function blockMap(
  page: PageContext,
  txs: readonly BriefTransaction[],
  { added = new Set(), all }: BlockMapOptions,
): Html | undefined {
  const { t, f } = page
  if (txs.length === 0) return undefined
  const bands = placedCells(txs, { x: 0, y: 0, width: WIDTH, height: HEIGHT })
  const names = bandNames(page)
  const drawn = bands.map(
    ({ band, cells }) =>
      html`<g class="band-${band}"
        >${cells.map((cell) => linked(page, cell, { name: names[band] ?? '', added, all }))}</g
      >`,
  )
  const sign = (kind: string, name: string, count: number): Html =>
    html`<div>
      <dt>
        <svg class="${kind}" viewBox="0 0 24 10" aria-hidden="true"><rect width="24" height="10" /></svg>
        ${name}
      </dt>
      <dd>${f.number(count)}</dd>
    </div>`
  const dilithium = txs.filter((tx) => tx.is_dilithium).length
  const unexpected = txs.filter(({ txid }) => added.has(txid)).length
  return html`<figure class="map">
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="group" aria-label="${t.map.about}">
      ${drawn}
    </svg>
    <dl class="legend">
      ${bands.map(({ band, count }) => sign(`band-${String(band)}`, names[band] ?? '', count))}
      ${dilithium === 0 ? undefined : sign('signed', t.words.dilithium, dilithium)}
      ${unexpected === 0 ? undefined : sign('added', t.expected.added, unexpected)}
    </dl>
  </figure>`
}

/** The transactions of a band of fee rates. */
interface Band {
  readonly band: number
  /** The number of transactions. */
  readonly count: number
  readonly cells: readonly PlacedCell[]
}

/** Divides a rectangle among transactions by their sizes, those of each band of fee rates side by side; the largest band is the first. */
export function placedCells(txs: readonly BriefTransaction[], whole: Rectangle): Band[] {
  const sum = txs.reduce((total, { vsize }) => total + vsize, 0)
  const bands = SHOWN_BANDS.map((_, band) => {
    const own = txs.filter((tx) => bandOf(tx.effective_fee_rate) === band)
    const cells = cellsOf(own, LEAST * sum)
    return { band, count: own.length, cells, vsize: cells.reduce((total, { vsize }) => total + vsize, 0) }
  })
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.vsize - one.vsize)
  const areas = squarified(sizesOf(bands), whole)
  return bands.map(({ band, count, cells }, at) => {
    const places = squarified(sizesOf(cells), areas[at] ?? whole)
    return { band, count, cells: cells.map((cell, index) => ({ ...cell, place: places[index] ?? whole })) }
  })
}

const sizesOf = (sized: readonly { readonly vsize: number }[]): number[] => sized.map(({ vsize }) => vsize)

/** Returns the cells of transactions, the largest first. @param least the smallest size of a cell for one transaction. */
function cellsOf(txs: readonly BriefTransaction[], least: number): Cell[] {
  const large = txs.filter(({ vsize }) => vsize >= least)
  const cells: Cell[] = large.map((tx) => ({ vsize: tx.vsize, tx, count: 1 }))
  const rest = txs.filter(({ vsize }) => vsize < least)
  if (rest.length > 0)
    cells.push({ vsize: rest.reduce((sum, { vsize }) => sum + vsize, 0), count: rest.length })
  return cells.sort((one, other) => other.vsize - one.vsize)
}

interface Linked extends Required<BlockMapOptions> {
  /** The name of its band. */
  readonly name: string
}

/** The list below the picture has the same links for the keyboard. */
function linked(
  { t, f, to }: PageContext,
  { tx, vsize, count, place }: PlacedCell,
  { name, added, all }: Linked,
): Html {
  const [x, y, width, height] = [place.x, place.y, place.width, place.height].map((each) =>
    Number(each.toFixed(1)),
  )
  const rect = (kind: string): Html =>
    html`<rect
      ${kind === '' ? undefined : html` class="${kind}"`}
      x="${x}"
      y="${y}"
      width="${width}"
      height="${height}"
    />`
  if (tx === undefined)
    return html`<a href="${all}" tabindex="-1"
      >${rect('rest')}<title>${t.map.rest(f.number(count))}, ${name}</title></a
    >`
  const kinds = [tx.is_dilithium ? 'signed' : '', added.has(tx.txid) ? 'added' : '']
  return html`<a href="${to(`/tx/${tx.txid}`)}" tabindex="-1"
    >${rect(kinds.filter(Boolean).join(' '))}<title>
      ${f.rate(f.number(tx.effective_fee_rate))}, ${f.number(vsize)} vB
    </title></a
  >`
}
