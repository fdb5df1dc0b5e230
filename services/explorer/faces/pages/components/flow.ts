import { html, type Html } from '../../../../design/html.js'
import type { PageContext } from '../page.js'

const WIDTH = 900
const HEIGHT = 180
/** The height of the ribbons on the screen, in pixels. */
const SHOWN_HEIGHT = 208
/** The trunk in the middle, through which all value flows. */
const TRUNK = { left: WIDTH / 2 - 60, right: WIDTH / 2 + 60, height: 84 }
const GAP = 3
/** The height of a ribbon without value. */
const LEAST = 2

/** The class of a ribbon's element, which determines its colour and its edge. */
export type Kind = 'in' | 'signed' | 'new' | 'out' | 'fee' | 'rest'

export interface Ribbon {
  readonly kind: Kind
  readonly value: number
  /** The URL to which the coin leads; undefined if there is none. */
  readonly href?: string
  /** Its name, for the pointer and for screen readers. */
  readonly title: string
  /** Its name, shown below the diagram while it is pointed at or has the focus. */
  readonly label: Html
}

/**
 * Returns a diagram of a transaction: ribbons from its inputs, on the left, to its outputs and its fee, on the right, as wide as their
 * values. Each is a link, and has a picture of its own, so that only the ribbons are stretched, and no text is.
 */
export function flow({ t }: PageContext, inputs: readonly Ribbon[], outputs: readonly Ribbon[]): Html {
  const names: Readonly<Record<Kind, string | undefined>> = {
    in: t.tx.inputs,
    signed: t.tx.signedInputs,
    new: t.tx.newCoins,
    out: t.tx.outputs,
    fee: t.words.fee,
    rest: undefined,
  }
  const drawn = new Set([...inputs, ...outputs].map(({ kind }) => kind))
  const legend = [...drawn].flatMap((kind) => {
    const name = names[kind]
    const sign = html`<svg class="${kind}" viewBox="0 0 24 10" aria-hidden="true">
      <path d="M1 1h22v8h-22z" />
    </svg>`
    return name === undefined ? [] : [html`<li>${sign} ${name}</li>`]
  })
  const trunk = html`<rect
    class="trunk"
    x="${TRUNK.left}"
    y="${(HEIGHT - TRUNK.height) / 2}"
    width="${TRUNK.right - TRUNK.left}"
    height="${TRUNK.height}"
  />`
  return html`<figure class="flow">
    <svg role="group" aria-label="${t.tx.flow}">
      ${stretched(trunk)}${ribbons(inputs, true)}${ribbons(outputs, false)}${below('hint', html`${t.tx.flowHint}`)}
    </svg>
    <ul class="legend">
      ${legend}
    </ul>
  </figure>`
}

const stretched = (content: Html): Html =>
  html`<svg width="100%" height="${SHOWN_HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
    ${content}
  </svg>`

/** Returns a line below the ribbons. */
const below = (kind: string, text: Html): Html =>
  html`<foreignObject class="${kind}" y="${SHOWN_HEIGHT + 4}" width="100%" height="48"
    ><p>${text}</p></foreignObject
  >`

/** The measures of the diagram before it is stretched. */
export const FLOW = { width: WIDTH, height: HEIGHT, trunk: TRUNK } as const

/** Returns the outlines of ribbons from an edge of the diagram to the trunk. @param isLeft true for the left edge. */
export function pathsOf(values: readonly number[], isLeft: boolean): string[] {
  const [edge, trunk] = isLeft ? [0, TRUNK.left] : [WIDTH, TRUNK.right]
  const sum = Math.max(
    1,
    values.reduce((total, value) => total + value, 0),
  )
  const room = HEIGHT - GAP * (values.length - 1) - LEAST * values.length
  const middle = (edge + trunk) / 2
  let outer = 0
  let inner = (HEIGHT - TRUNK.height) / 2
  return values.map((value) => {
    const height = LEAST + (value / sum) * room
    const thickness = (value / sum) * TRUNK.height
    const curve = (y: number, to: number, end: number): string =>
      [middle, y, middle, end, to, end].map((each) => each.toFixed(1)).join(' ')
    const path =
      `M${edge.toFixed(1)} ${outer.toFixed(1)}C${curve(outer, trunk, inner)}` +
      `V${(inner + thickness).toFixed(1)}C${curve(inner + thickness, edge, outer + height)}Z`
    outer += height + GAP
    inner += thickness
    return path
  })
}

/** Returns the ribbons of a side. */
function ribbons(items: readonly Ribbon[], isLeft: boolean): readonly Html[] {
  const paths = pathsOf(
    items.map(({ value }) => value),
    isLeft,
  )
  return items.map(({ kind, href, title, label }, at) => {
    const content = html`<title>${title}</title>
      ${stretched(html`<path d="${paths[at]}" />`)}${below(isLeft ? 'left' : 'right', label)}`
    return href === undefined
      ? html`<g class="${kind}">${content}</g>`
      : html`<a class="${kind}" href="${href}">${content}</a>`
  })
}
