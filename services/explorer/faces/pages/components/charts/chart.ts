import { html, type Html } from '../../../../../design/html.js'
import type { Format } from '../../format.js'
import type { PageContext } from '../../page.js'
import { numberTicks, roundNumbers, roundStep, type Tick, timeTicks } from './axis.js'
import { table } from '../table.js'

/** A row of a series: a time (ISO 8601), a date (YYYY-MM-DD) or a number, and decimal figures. */
export type Point = readonly [x: string | number, ...values: (string | number)[]]

export interface Chart {
  readonly id: string
  readonly title: string
  /** The name of the first column. */
  readonly x: string
  /** The names of the figures, each of which is drawn: as a line, or as a band on top of those before it. */
  readonly lines: readonly string[]
  readonly isStacked?: boolean
  /** The colours of the bands, by the numbers that the styles have for them. Not set: in their order. */
  readonly colours?: readonly number[]
  /** Oldest first. */
  readonly points: readonly Point[]
  /** The URL of the chart's figures as CSV. */
  readonly csv?: string | undefined
  /** The factor by which figures are multiplied to be drawn: the table has them as they are. */
  readonly scale?: number
  /** Formats a figure of the table; the number as given if left out. */
  readonly format?: (value: string | number) => string | Html
}

/** The numbers of lines and bands for which the styles have colours. */
const MOST_LINES = 3
const MOST_BANDS = 8
/** The height of the figures, and with the labels below them. The width is that of the page, in thousandths. */
const HEIGHT = 240
const WIDTH = 1_000
const WITH_LABELS = 264
/** The room above the highest tick, for its label. */
const TOP = 8
const TICKS = 8
const ROWS = 4
/** The axis of values begins at 0 unless that would flatten lines to less than this part of the height. */
const FLAT = 0.4
/** The parts of the width at both ends in which a label would not fit around its tick. */
const EDGE = 0.05
/** More points could not be distinguished. */
const MOST_POINTS = 360

/**
 * Returns a chart as SVG with axes, the figures of its last point, and the table that it was drawn from. The client adds to it the
 * figures of the point below the pointer.
 * @throws Error if the chart has more lines or bands than can be distinguished.
 */
export function chart(page: PageContext, whole: Chart): Html {
  const { t, f } = page
  const { id, title, x, lines, csv, format, isStacked = false, colours } = whole
  if (lines.length > (isStacked ? MOST_BANDS : MOST_LINES))
    throw new Error(`the chart ${id} has ${String(lines.length)} lines, more than there are colours`)
  const points = thinned(whole.points)
  const isNumber = typeof points[0]?.[0] === 'number'
  const textOf = format ?? ((value) => f.number(value))
  const cellsOf = ([at, ...values]: Point): Html[] => [
    firstOf(f, at),
    ...values.map((value) => html`<data value="${value}">${textOf(value)}</data>`),
  ]
  const rows = points.map((point) => ({ cells: cellsOf(point) }))
  const columns = [{ title: x, isNumber }, ...lines.map((line) => ({ title: line, isNumber: true }))]
  const last = points.at(-1)
  // A single point is no line.
  if (last === undefined || points.length < 2) return table(title, columns, rows)
  const kind = isStacked ? 'band' : 'line'
  const values = cellsOf(last)
  return html`<figure class="chart" id="chart-${id}">
    ${plot(f, title, { ...whole, points })}
    <dl class="legend">
      <div>
        <dt>${x}</dt>
        <dd>${values[0]}</dd>
      </div>
      ${lines.map(
        (line, at) =>
          html`<div>
            <dt>
              <svg class="${kind}-${colours?.[at] ?? at}" viewBox="0 0 24 10" aria-hidden="true">
                ${isStacked ? html`<rect width="24" height="10" />` : html`<path d="M0 5h24" />`}
              </svg>
              ${line}
            </dt>
            <dd>${values[at + 1]}</dd>
          </div>`,
      )}
    </dl>
    <figcaption>
      <details>
        <summary>${t.words.table}</summary>
        ${table(title, columns, rows)}
      </details>
      ${csv === undefined ? undefined : html`<a href="${csv}" download>${t.words.csv}</a>`}
    </figcaption>
  </figure>`
}

const firstOf = (f: Format, value: string | number): Html =>
  typeof value === 'number'
    ? html`<data value="${value}">${f.number(value)}</data>`
    : value.includes('T')
      ? f.time(value)
      : f.date(value)

/** Returns the lowest and the highest point of each part of a long series: every point is one of the series, and no peak is lost. */
export function thinned(points: readonly Point[]): readonly Point[] {
  if (points.length <= MOST_POINTS) return points
  const size = Math.ceil((2 * points.length) / MOST_POINTS)
  const kept: Point[] = []
  for (let from = 0; from < points.length; from += size) {
    const part = points.slice(from, from + size)
    const byValue = [...part].sort((one, other) => Number(one[1]) - Number(other[1]))
    const extremes = new Set([byValue[0], byValue.at(-1)])
    // The newest point is what readers compare with other figures of the page.
    if (from + size >= points.length) extremes.add(points.at(-1))
    kept.push(...part.filter((point) => extremes.has(point)))
  }
  return kept
}

interface Axis {
  readonly least: number
  readonly most: number
  readonly ticks: readonly Tick[]
}

/** Returns the picture of a chart. */
function plot(
  f: Format,
  title: string,
  { points, lines, isStacked = false, colours, scale = 1 }: Chart,
): Html {
  const xs = points.map(([at]) => (typeof at === 'number' ? at : Date.parse(at)))
  const values = lines.map((_, line) => points.map((point) => Number(point[line + 1]) * scale))
  const edges = isStacked ? stackedOf(values) : values
  const x = xAxis(f, xs, typeof points[0]?.[0] === 'number')
  const y = yAxis(f, edges, isStacked)
  const xOf = (value: number): number => (x.most === x.least ? 0 : (value - x.least) / (x.most - x.least))
  const yOf = (value: number): number => HEIGHT - ((value - y.least) / (y.most - y.least)) * (HEIGHT - TOP)
  const pathOf = (line: readonly number[]): string =>
    line.map((value, at) => `${round(xOf(xs[at] ?? 0) * WIDTH)} ${round(yOf(value))}`).join('L')
  const areaOf = (upper: readonly number[], lower: readonly number[] | undefined): string => {
    const back =
      lower === undefined
        ? `${String(WIDTH)} ${String(HEIGHT)}L0 ${String(HEIGHT)}`
        : pathOf(lower).split('L').reverse().join('L')
    return `M${pathOf(upper)}L${back}Z`
  }
  const drawn = isStacked
    ? edges.map(
        (edge, at) => html`<path class="band-${colours?.[at] ?? at}" d="${areaOf(edge, edges[at - 1])}" />`,
      )
    : edges.map(
        (edge, at) =>
          html`${at === 0 && y.least === 0 ? html`<path class="under" d="${areaOf(edge, undefined)}" />` : undefined}
            <path class="line-${at}" d="M${pathOf(edge)}" />`,
      )
  return html`<div class="plot">
    <svg class="values" aria-hidden="true">
      ${y.ticks.map(({ value, label }) => html`<text x="100%" y="${round(yOf(value) + 4)}" text-anchor="end" ${scale === 1 ? undefined : html` data-coins="${value}"`}>${label}</text>`)}
    </svg>
    <svg class="figures" role="img" aria-label="${title}">
      ${y.ticks.map(({ value }) => html`<line x2="100%" y1="${round(yOf(value))}" y2="${round(yOf(value))}" />`)}
      <svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
        ${drawn}
      </svg>
      ${x.ticks.map((tick, index) => xTick(tick, { at: xOf(tick.value), isMinor: index % 2 === 1 && x.ticks.length > 3 }))}
      <line class="cursor" y2="${HEIGHT}" visibility="hidden" />
    </svg>
  </div>`
}

function xTick({ value, label, isClock }: Tick, { at, isMinor }: { at: number; isMinor: boolean }): Html {
  const anchor = at < EDGE ? 'start' : at > 1 - EDGE ? 'end' : 'middle'
  const x = `${round(at * 100)}%`
  return html`<g class="${isMinor ? 'tick sparse' : 'tick'}">
    <line x1="${x}" x2="${x}" y1="${HEIGHT}" y2="${HEIGHT + 5}" />
    <text
      x="${x}"
      y="${WITH_LABELS - 4}"
      text-anchor="${anchor}"
      ${isClock === true ? html` data-time="${value}"` : undefined}
      >${label}</text
    >
  </g>`
}

const round = (value: number): string => String(Number(value.toFixed(1)))

/** Returns the upper edges of bands that lie on top of each other. */
function stackedOf(values: readonly (readonly number[])[]): number[][] {
  const edges: number[][] = []
  for (const band of values) edges.push(band.map((value, at) => value + (edges.at(-1)?.[at] ?? 0)))
  return edges
}

function xAxis(f: Format, xs: readonly number[], isNumber: boolean): Axis {
  const [least, most] = [Math.min(...xs), Math.max(...xs)]
  return { least, most, ticks: (isNumber ? numberTicks : timeTicks)(f, least, most, TICKS) }
}

/** Returns the axis of values: it begins at 0, unless lines would be nearly flat. Bands always begin at 0: their areas are compared. */
function yAxis(f: Format, edges: readonly (readonly number[])[], isStacked: boolean): Axis {
  const all = edges.flat()
  const [lowest, highest] = [Math.min(...all), Math.max(...all)]
  const isCut = !isStacked && highest > lowest && highest - lowest < FLAT * highest
  const step = roundStep(((isCut ? highest - lowest : highest) || 1) / ROWS)
  const least = isCut ? Math.floor(lowest / step) * step : 0
  const most = Math.max(least + step, Math.ceil(highest / step - 1e-9) * step)
  const ticks = roundNumbers(least, most, Math.round((most - least) / step))
  const label = labelling(f, ticks)
  return { least, most, ticks: ticks.map((value) => ({ value, label: label(value) })) }
}

const UNITS = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z']

/** Returns how the ticks of an axis are written: with one unit prefix, and as many decimals as distinguish them. */
function labelling(f: Format, ticks: readonly number[]): (value: number) => string {
  const most = ticks.at(-1) ?? 0
  const step = (ticks[1] ?? most) - (ticks[0] ?? 0)
  if (most < 0.01) return (value) => (value === 0 ? '0' : f.scientific(value, 0))
  const unit = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log10(most) / 3)))
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / 1000 ** unit) - 1e-9))
  return (value) =>
    value === 0 ? '0' : `${f.number((value / 1000 ** unit).toFixed(decimals))}${UNITS[unit] ?? ''}`
}
