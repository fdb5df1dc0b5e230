import { html, type Html } from '../../../../design/html.js'
import type { PageContext } from '../page.js'
import { table } from './table.js'

/** A row of a series: a time (ISO 8601), a date (YYYY-MM-DD) or a number, and decimal figures. */
export type Point = readonly [x: string | number, ...values: (string | number)[]]

export interface Chart {
  readonly id: string
  readonly title: string
  /** The name of the first column. */
  readonly x: string
  /** The names of the figures; the first two are drawn. */
  readonly lines: readonly string[]
  /** Oldest first. */
  readonly points: readonly Point[]
  /** The URL of the chart's figures as CSV. */
  readonly csv?: string | undefined
  /** Formats a figure of the table; the number as given if left out. */
  /** The factor by which figures are multiplied to be drawn: the table has them as they are. */
  readonly scale?: number
  readonly format?: (value: string | number) => string | Html
}

const WIDTH = 600
const HEIGHT = 200

/** Returns a chart as lines of SVG, which the client replaces by one with axes and exact figures, and as the table that it reads. */
export function chart(
  { t, f }: PageContext,
  { id, title, x, lines, points, csv, format, scale }: Chart,
): Html {
  const isNumber = typeof points[0]?.[0] === 'number'
  const textOf = format ?? ((value) => f.number(value))
  const first = (value: string | number): Html =>
    typeof value === 'number'
      ? html`<data value="${value}">${f.number(value)}</data>`
      : value.includes('T')
        ? f.time(value)
        : f.date(value)
  const rows = points.map(([at, ...values]) => ({
    cells: [first(at), ...values.map((value) => html`<data value="${value}">${textOf(value)}</data>`)],
  }))
  const columns = [{ title: x, isNumber }, ...lines.map((line) => ({ title: line, isNumber: true }))]
  // A single point is no line.
  if (points.length < 2) return table(title, columns, rows)
  return html`<figure class="chart" id="chart-${id}" data-scale="${scale ?? 1}">
    <div class="plot">
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}">
        ${lines.slice(0, 2).map((_, line) => html`<polyline class="line-${line}" points="${pointsOf(points, line)}" />`)}
      </svg>
    </div>
    <figcaption>
      <details>
        <summary>${t.words.table}</summary>
        ${table(title, columns, rows)}
      </details>
      ${csv === undefined ? undefined : html`<a href="${csv}" download>${t.words.csv}</a>`}
    </figcaption>
  </figure>`
}

/** Returns the points of a line, scaled to the figures of all lines. */
function pointsOf(points: readonly Point[], line: number): string {
  const values = points.map((point) => Number(point[line + 1]))
  const all = points.flatMap(([, ...each]) => each.slice(0, 2).map(Number))
  const most = all.reduce((one, other) => Math.max(one, other), 0)
  const scale = most === 0 ? 0 : (HEIGHT - 10) / most
  const step = WIDTH / Math.max(1, values.length - 1)
  return values
    .map((value, index) => `${(index * step).toFixed(1)},${(HEIGHT - 4 - value * scale).toFixed(1)}`)
    .join(' ')
}
