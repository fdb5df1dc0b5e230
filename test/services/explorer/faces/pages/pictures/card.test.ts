import { Resvg } from '@resvg/resvg-js'
import { describe, expect, it } from 'vitest'
import { html } from '../../../../../../services/design/html.js'
import { Overloaded } from '../../../../../../services/explorer/core/reads/read.js'
import { cardSvg } from '../../../../../../services/explorer/faces/pages/pictures/card.js'
import { Drawer } from '../../../../../../services/explorer/faces/pages/pictures/drawer.js'
import { drawingProblem, drawn } from '../../../../../../services/explorer/faces/pages/pictures/drawing.js'

const [WIDTH, HEIGHT] = [1200, 630]

/** Returns the pixels of a PNG, four bytes each. */
function pixelsOf(png: Uint8Array): Buffer {
  const href = `data:image/png;base64,${Buffer.from(png).toString('base64')}`
  const size = `width="${String(WIDTH)}" height="${String(HEIGHT)}"`
  return new Resvg(
    `<svg xmlns="http://www.w3.org/2000/svg" ${size}><image href="${href}" ${size}/></svg>`,
  ).render().pixels
}

/** Returns the dark pixels of a part of a card. */
function inkOf(
  pixels: Buffer,
  [left, top, right, bottom]: readonly [number, number, number, number],
): number {
  let count = 0
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++) if ((pixels[(y * WIDTH + x) * 4] ?? 255) < 90) count++
  return count
}

const TITLE = [60, 120, 1140, 200] as const
const card = (title: string) =>
  pixelsOf(
    drawn(
      cardSvg(
        {
          title,
          about: 'a',
          figures: [['Fee', '0.5']],
          drawing: html`<rect width="500" height="300" fill="#000" />`,
        },
        'Headwater',
        'Bitcoin',
      ),
    ),
  )

describe('the picture of a link', () => {
  it('has the size that its consumers expect, the texts in its own font, and the drawing', () => {
    expect(drawingProblem()).toBeUndefined()
    const pixels = card('Block 1')
    expect(pixels).toHaveLength(WIDTH * HEIGHT * 4)
    const ink = inkOf(pixels, TITLE)
    // Letters, not boxes for missing ones: more of them have more ink, each another.
    expect(ink).toBeGreaterThan(1_000)
    expect(inkOf(card('Block 888'), TITLE)).toBeGreaterThan(ink)
    expect(inkOf(card('Ä₿ж'), TITLE)).not.toBe(inkOf(card('???'), TITLE))
    expect(inkOf(pixels, [640, 290, 1140, 590])).toBe(500 * 300)
  })

  it('shows texts of the chain as texts, cuts long ones, and is drawn whatever their characters', () => {
    const hostile = '</text><rect width="1200" height="630"/>'
    expect(inkOf(card(hostile), [60, 260, 600, 280])).toBe(0)
    expect(inkOf(card('W'.repeat(500)), [1141, 20, WIDTH, HEIGHT])).toBe(0)
    expect(inkOf(card('日本\u0000\uD800'), TITLE)).toBe(inkOf(card('????'), TITLE))
  })

  it('waits for a limited number of others', async () => {
    const drawer = new Drawer()
    const tiny = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => drawer.draw(tiny)))
    const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    expect(refused).toHaveLength(16)
    expect(refused[0]).toBeInstanceOf(Overloaded)
    expect((await drawer.draw(tiny)).subarray(1, 4).toString()).toBe('PNG')
  })
})
