import { createRequire } from 'node:module'
import type * as Rasterizer from '@resvg/resvg-js'

/** The family of the font that the package of fonts ships: pictures are equal on every machine. */
export const FONT = 'Inter'
const FONT_FILES = ['400Regular/Inter_400Regular.ttf', '700Bold/Inter_700Bold.ttf'] as const

const require = createRequire(import.meta.url)

// Required instead of imported: on a platform without its library, the explorer serves everything but pictures.
const rasterizer = (): typeof Rasterizer => require('@resvg/resvg-js') as typeof Rasterizer

/** Returns the reason for which no pictures can be drawn; undefined if they can. */
export function drawingProblem(): string | undefined {
  try {
    rasterizer()
    for (const file of FONT_FILES) fontFile(file)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const fontFile = (name: string): string => require.resolve(`@expo-google-fonts/inter/${name}`)

/** Draws a document of SVG as PNG. @throws Error if it is invalid. */
export function drawn(svg: string): Uint8Array {
  const { Resvg } = rasterizer()
  const font = { loadSystemFonts: false, fontFiles: FONT_FILES.map(fontFile), defaultFontFamily: FONT }
  return new Resvg(svg, { font }).render().asPng()
}
