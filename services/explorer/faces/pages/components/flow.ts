import { html, type Html } from '../../../../design/html.js'
import type { PageContext } from '../page.js'

const WIDTH = 900
const HEIGHT = 180
/** The trunk in the middle, through which all value flows. */
const TRUNK = { left: WIDTH / 2 - 60, right: WIDTH / 2 + 60, height: 84 }
/** More ribbons would be too thin to distinguish: the rest is drawn as one. */
const MOST = 24
const GAP = 3
/** The height of a ribbon without value. */
const LEAST = 2

export interface Ribbon {
  /** The class of its element, which determines its colour. */
  readonly kind: string
  readonly value: number
}

/**
 * Returns a diagram of a transaction: ribbons from its inputs, on the left, to its outputs and its fee, on the right, as wide as their
 * values. The lists below it have the figures, so it is an image.
 */
export function flow({ t }: PageContext, inputs: readonly Ribbon[], outputs: readonly Ribbon[]): Html {
  const top = (HEIGHT - TRUNK.height) / 2
  return html`<svg
    class="flow"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${t.tx.flow}"
  >
    ${ribbons(inputs, 0, TRUNK.left)}${ribbons(outputs, WIDTH, TRUNK.right)}
    <rect
      class="trunk"
      x="${TRUNK.left}"
      y="${top}"
      width="${TRUNK.right - TRUNK.left}"
      height="${TRUNK.height}"
    />
  </svg>`
}

/** Returns ribbons from an edge of the diagram to a side of the trunk. */
function ribbons(items: readonly Ribbon[], edge: number, trunk: number): readonly Html[] {
  const rest = items.slice(MOST).reduce((sum, { value }) => sum + value, 0)
  const all = items.length > MOST ? [...items.slice(0, MOST), { kind: 'rest', value: rest }] : items
  const sum = Math.max(
    1,
    all.reduce((total, { value }) => total + value, 0),
  )
  const room = HEIGHT - GAP * (all.length - 1) - LEAST * all.length
  const middle = (edge + trunk) / 2
  let outer = 0
  let inner = (HEIGHT - TRUNK.height) / 2
  return all.map(({ kind, value }) => {
    const height = LEAST + (value / sum) * room
    const thickness = (value / sum) * TRUNK.height
    const curve = (y: number, to: number, end: number): string =>
      [middle, y, middle, end, to, end].map((each) => each.toFixed(1)).join(' ')
    const path =
      `M${edge.toFixed(1)} ${outer.toFixed(1)}C${curve(outer, trunk, inner)}` +
      `V${(inner + thickness).toFixed(1)}C${curve(inner + thickness, edge, outer + height)}Z`
    outer += height + GAP
    inner += thickness
    return html`<path class="${kind}" d="${path}" />`
  })
}
