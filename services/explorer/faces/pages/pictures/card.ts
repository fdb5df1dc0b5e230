import { html, type Html } from '../../../../design/html.js'
import { PICTURE } from '../layout.js'
import { FONT } from './drawing.js'

/** The size of the drawing of a card. */
export const DRAWING = { width: 500, height: 300 } as const

const EDGE = 60
const INNER = PICTURE.width - 2 * EDGE
/** The width of a figure beside the drawing, and of a character in parts of the size of the font: digits are as wide as bold letters. */
const FIGURE = 270
const CHARACTER = 0.6
const LEAST_SIZE = 18

/** The colours of the light theme, see design.css and pages.css. */
export const COLOURS = {
  paper: '#fcfbf9',
  ink: '#22292f',
  soft: '#5d6a73',
  line: '#e4e0d9',
  accent: '#0d6e66',
  bands: ['#d5e6e2', '#abd3ca', '#7cbdb2', '#4ea3a0', '#3d8599', '#48658f', '#5d447c', '#64265c'],
  in: '#8fb9b3',
  out: '#5f8fbf',
  fee: '#c98a3c',
} as const

/** The content of a picture of a link. */
export interface Card {
  readonly title: string
  readonly about: string
  /** Up to four. */
  readonly figures: readonly (readonly [name: string, value: string])[]
  /** SVG of the size of `DRAWING`. */
  readonly drawing?: Html | undefined
}

/** The characters of the font: Latin, Greek, Cyrillic, punctuation, superscripts and signs of currencies. */
const DRAWABLE =
  /^[\u{20}-\u{7e}\u{a0}-\u{24f}\u{370}-\u{52f}\u{2010}-\u{2027}\u{202f}-\u{205f}\u{2070}-\u{20bf}\u{2212}]*$/u

/** Returns whether the font has all characters of a text. */
export const isDrawable = (text: string): boolean => DRAWABLE.test(text)

const clean = (text: string): string =>
  isDrawable(text) ? text : Array.from(text, (sign) => (isDrawable(sign) ? sign : '?')).join('')

/** Returns a picture of a link as SVG. @param site the name of the site. @param chain the name of the chain. */
export function cardSvg({ title, about, figures, drawing }: Card, site: string, chain: string): string {
  const rows = figures.map(([name, value], at) => {
    const [x, y] = [EDGE + (at % 2) * (FIGURE + 30), 330 + Math.floor(at / 2) * 130]
    return html`${line(name, { x, y, size: 24, width: FIGURE, colour: COLOURS.soft })}
    ${line(value, { x, y: y + 46, size: 38, width: FIGURE, isBold: true })}`
  })
  const { width, height } = PICTURE
  return html`<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${width}"
    height="${height}"
    font-family="${FONT}"
  >
    <rect width="${width}" height="${height}" fill="${COLOURS.paper}" />
    <rect width="${width}" height="10" fill="${COLOURS.accent}" />
    <path
      d="M3 8c3 0 3 3 6 3s3-3 6-3 3 3 6 3M3 14c3 0 3 3 6 3s3-3 6-3 3 3 6 3"
      transform="translate(${EDGE - 6} 44) scale(2)"
      fill="none"
      stroke="${COLOURS.accent}"
      stroke-width="2"
    />
    <clipPath id="inside"><rect x="${EDGE}" width="${INNER}" height="${height}" /></clipPath>
    <g clip-path="url(#inside)">
      ${line(site, { x: EDGE + 54, y: 78, size: 30, width: 400, isBold: true })}
      ${line(chain, { x: width - EDGE, y: 78, size: 26, width: 500, colour: COLOURS.soft, isAtEnd: true })}
      <rect x="${EDGE}" y="106" width="${INNER}" height="2" fill="${COLOURS.line}" />
      ${line(title, { x: EDGE, y: 190, size: 64, width: INNER, isBold: true })}
      ${line(about, { x: EDGE, y: 246, size: 26, width: INNER, colour: COLOURS.soft })} ${rows}
      ${drawing && html`<g transform="translate(${width - EDGE - DRAWING.width} 290)">${drawing}</g>`}
    </g>
  </svg>`.text
}

interface Line {
  readonly x: number
  readonly y: number
  /** The size of the font, unless the text is too long for the width. */
  readonly size: number
  readonly width: number
  readonly colour?: string
  readonly isBold?: boolean
  readonly isAtEnd?: boolean
}

function line(
  text: string,
  { x, y, size, width, colour = COLOURS.ink, isBold = false, isAtEnd = false }: Line,
): Html {
  const sized = (length: number): number => width / (CHARACTER * length)
  const cleaned = clean(text)
  const most = Math.floor(width / (CHARACTER * LEAST_SIZE))
  const shown = cleaned.length > most ? `${cleaned.slice(0, most - 1)}…` : cleaned
  return html`<text
    x="${x}"
    y="${y}"
    font-size="${Math.min(size, sized(Math.max(1, shown.length))).toFixed(1)}"
    font-weight="${isBold ? 700 : 400}"
    text-anchor="${isAtEnd ? 'end' : 'start'}"
    fill="${colour}"
    >${shown}</text
  >`
}
