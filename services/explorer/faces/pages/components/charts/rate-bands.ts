import type { PageContext } from '../../page.js'

/** The lower edges of the bands of fee rates that pages show, in base units per virtual byte; each is an edge of `RATE_BANDS`. */
export const SHOWN_BANDS = ['0.00', '2.00', '5.00', '10.00', '20.00', '50.00', '100.00', '200.00'] as const

const EDGES = SHOWN_BANDS.map(Number)

/** Returns the index of the band of a fee rate. @param rate in base units per virtual byte, decimal. */
export const bandOf = (rate: string): number => EDGES.findLastIndex((edge) => Number(rate) >= edge)

/** Returns the names of the bands, with their unit. */
export function bandNames({ t, f }: Pick<PageContext, 't' | 'f'>): string[] {
  return EDGES.map((edge, band) => {
    const [from, next] = [f.number(edge), EDGES[band + 1]]
    return f.rate(next === undefined ? t.mempool.ratesFrom(from) : t.mempool.rates(from, f.number(next)))
  })
}
