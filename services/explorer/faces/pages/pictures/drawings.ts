import { html, type Html } from '../../../../design/html.js'
import type { BriefTransaction, Transaction } from '../../../core/reads/shapes.js'
import { placedCells } from '../components/charts/block-map.js'
import type { Point } from '../components/charts/chart.js'
import { FLOW, pathsOf } from '../components/flow.js'
import { COLOURS, DRAWING } from './card.js'

const { width: WIDTH, height: HEIGHT } = DRAWING
/** The ribbons of a side: more would be too thin to distinguish. */
const MOST = 24

/** Returns a map of transactions: areas are sizes, colours are fee rates. */
export function mapDrawing(txs: readonly BriefTransaction[]): Html {
  const cells = placedCells(txs, { x: 0, y: 0, ...DRAWING }).flatMap(({ band, cells: placed }) =>
    placed.map(
      ({ place: { x, y, width, height } }) =>
        html`<rect
          x="${x.toFixed(1)}"
          y="${y.toFixed(1)}"
          width="${width.toFixed(1)}"
          height="${height.toFixed(1)}"
          fill="${COLOURS.bands[band]}"
          stroke="${COLOURS.paper}"
        />`,
    ),
  )
  return html`<rect width="${WIDTH}" height="${HEIGHT}" fill="${COLOURS.line}" />${cells}`
}

interface Flowing {
  readonly value: number
  readonly colour: string
}

/** Returns the first values of a side, and the rest of its sum as one. */
function side(values: readonly (string | null)[], sum: string, colour: string): Flowing[] {
  const shown = values.slice(0, MOST).map((value) => ({ value: Number(value ?? 0), colour }))
  const rest = Number(sum) - shown.reduce((total, { value }) => total + value, 0)
  return values.length > MOST && rest > 0 ? [...shown, { value: rest, colour: COLOURS.soft }] : shown
}

/** Returns the value that flows from the inputs of a transaction, on the left, to its outputs and its fee. */
export function flowDrawing({
  is_coinbase,
  inputs,
  outputs,
  input_value,
  output_value,
  fee,
}: Transaction): Html {
  const from = is_coinbase
    ? [{ value: Number(output_value), colour: COLOURS.accent }]
    : side(
        inputs.map(({ value }) => value),
        input_value,
        COLOURS.in,
      )
  const to = side(
    outputs.map(({ value }) => value),
    output_value,
    COLOURS.out,
  )
  if (!is_coinbase) to.push({ value: Number(fee), colour: COLOURS.fee })
  const drawnSide = (ribbons: readonly Flowing[], isLeft: boolean): Html[] =>
    pathsOf(
      ribbons.map(({ value }) => value),
      isLeft,
    ).map((path, at) => html`<path d="${path}" fill="${ribbons[at]?.colour}" />`)
  const { trunk } = FLOW
  return html`<g transform="scale(${WIDTH / FLOW.width} ${HEIGHT / FLOW.height})">
    <rect
      x="${trunk.left}"
      y="${(FLOW.height - trunk.height) / 2}"
      width="${trunk.right - trunk.left}"
      height="${trunk.height}"
      fill="${COLOURS.line}"
    />
    ${drawnSide(from, true)}${drawnSide(to, false)}
  </g>`
}

/** Returns a balance over time as an area above zero; undefined without two points. */
export function balanceDrawing(points: readonly Point[]): Html | undefined {
  const values = points.map(([, value]) => Number(value))
  if (values.length < 2) return undefined
  const most = Math.max(1, ...values)
  const line = values
    .map((value, at) => {
      const [x, y] = [(at * WIDTH) / (values.length - 1), HEIGHT - (value / most) * (HEIGHT - 10)]
      return `${x.toFixed(1)} ${y.toFixed(1)}`
    })
    .join('L')
  return html`<path d="M0 ${HEIGHT}L${line}L${WIDTH} ${HEIGHT}Z" fill="${COLOURS.bands[1]}" />
    <path d="M${line}" fill="none" stroke="${COLOURS.accent}" stroke-width="4" />
    <rect y="${HEIGHT - 1}" width="${WIDTH}" height="2" fill="${COLOURS.soft}" />`
}

/** Returns how full blocks are, the next one last. @param percents of the maximum weight. */
export function fullnessDrawing(percents: readonly number[]): Html {
  const step = WIDTH / percents.length
  const bars = percents.map((percent, at) => {
    const height = (Math.min(100, percent) / 100) * HEIGHT
    const isNext = at === percents.length - 1
    const x = at * step
    return html`<rect
        x="${x.toFixed(1)}"
        width="${(step - 8).toFixed(1)}"
        height="${HEIGHT}"
        rx="6"
        fill="${COLOURS.line}"
      />
      <rect
        x="${x.toFixed(1)}"
        y="${(HEIGHT - height).toFixed(1)}"
        width="${(step - 8).toFixed(1)}"
        height="${height.toFixed(1)}"
        rx="6"
        fill="${isNext ? COLOURS.fee : COLOURS.accent}"
      />`
  })
  return html`${bars}`
}
