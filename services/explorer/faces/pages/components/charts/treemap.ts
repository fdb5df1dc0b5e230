export interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/**
 * Divides a rectangle into rectangles with areas in proportion to sizes, as nearly square as rows of them can be. Source: Bruls,
 * Huizing, van Wijk: Squarified Treemaps (2000).
 * @param sizes positive, the largest first.
 */
export function squarified(sizes: readonly number[], into: Rectangle): Rectangle[] {
  const scale = (into.width * into.height) / sizes.reduce((sum, size) => sum + size, 0)
  const areas = sizes.map((size) => size * scale)
  const rectangles: Rectangle[] = []
  let free = into
  for (let from = 0; from < areas.length;) {
    const side = Math.min(free.width, free.height)
    let to = from + 1
    let sum = areas[from] ?? 0
    while (
      to < areas.length &&
      worst(areas, from, to + 1, sum + (areas[to] ?? 0), side) <= worst(areas, from, to, sum, side)
    )
      sum += areas[to++] ?? 0
    const row = placed(areas.slice(from, to), sum, free)
    rectangles.push(...row.rectangles)
    free = row.rest
    from = to
  }
  return rectangles
}

/** Returns the highest ratio of the sides of a row of rectangles along a side. @param sum of their areas. */
function worst(areas: readonly number[], from: number, to: number, sum: number, side: number): number {
  // The largest is the first, the smallest the last.
  const [largest = 0, smallest = 0] = [areas[from], areas[to - 1]]
  return Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest))
}

/** Returns rectangles in a row along the shorter side of a free one, and what it leaves. */
function placed(
  areas: readonly number[],
  sum: number,
  free: Rectangle,
): { readonly rectangles: Rectangle[]; readonly rest: Rectangle } {
  const { x, y, width, height } = free
  let offset = 0
  if (width >= height) {
    const thickness = sum / height
    const rectangles = areas.map((area) => {
      const own = { x, y: y + offset, width: thickness, height: area / thickness }
      offset += own.height
      return own
    })
    return { rectangles, rest: { x: x + thickness, y, width: width - thickness, height } }
  }
  const thickness = sum / width
  const rectangles = areas.map((area) => {
    const own = { x: x + offset, y, width: area / thickness, height: thickness }
    offset += own.width
    return own
  })
  return { rectangles, rest: { x, y: y + thickness, width, height: height - thickness } }
}
