import { brotliCompressSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { blockMap } from '../../../../../../../services/explorer/faces/pages/components/charts/block-map.js'
import {
  bandOf,
  SHOWN_BANDS,
} from '../../../../../../../services/explorer/faces/pages/components/charts/rate-bands.js'
import { Format } from '../../../../../../../services/explorer/faces/pages/format.js'
import { MESSAGES } from '../../../../../../../services/explorer/faces/pages/language.js'
import type { PageContext } from '../../../../../../../services/explorer/faces/pages/page.js'
import { RATE_BANDS } from '../../../../../../../pipelines/mempool/rate-bands.js'

const page = { t: MESSAGES.en, f: new Format('en-GB'), to: (path: string) => path } as PageContext
const idOf = (at: number): string => createHash('sha256').update(String(at)).digest('hex')
const tx = (at: number, vsize: number, rate: string, isDilithium = false) => ({
  txid: idOf(at),
  fee: '1000',
  vsize,
  effective_fee_rate: rate,
  is_dilithium: isDilithium,
})

describe('the map of a block', () => {
  it('has a link for each transaction, in the colour of its rate', () => {
    const txs = [tx(1, 1_000, '1.00'), tx(2, 500, '1.99'), tx(3, 250, '2.00', true), tx(4, 250, '5000.00')]
    const { text } = blockMap(page, txs, { added: new Set([idOf(4)]), all: '#all' })!
    const bands = [...text.replace(/\s+>/g, '>').matchAll(/<g class="band-(\d)">(.*?)<\/g>/gs)]
    const links = bands.map(([, band, cells]) => [
      band,
      [...cells!.matchAll(/href="\/tx\/(\w+)"/g)].map(([, id]) => id),
    ])
    expect(links).toEqual([
      ['0', [idOf(1), idOf(2)]],
      ['1', [idOf(3)]],
      ['7', [idOf(4)]],
    ])
    const areas = [...text.matchAll(/y="[\d.]+"\s+width="([\d.]+)"\s+height="([\d.]+)"/g)].map(
      ([, w, h]) => Number(w) * Number(h),
    )
    for (const [at, size] of [1_000, 500, 250, 250].entries())
      expect(areas[at]! / (size * 200)).toBeCloseTo(1, 1)
    expect(text.replace(/\s+/g, ' ')).toMatch(/class="signed"[^>]*>\s*<title>\s*2.00 \/vB, 250 vB\s*</)
    expect(text.match(/class="added"/g)).toHaveLength(2)
    expect(blockMap(page, [], { all: '' })).toBeUndefined()
  })

  it('of 5,000 transactions is small: those without a cell are counted in one for each band', () => {
    const txs = Array.from({ length: 5_000 }, (_, at) =>
      tx(
        at,
        110 + ((at * 7919) % 300) + (at % 50 === 0 ? 3_000 : 0),
        (((at * 104_729) % 30_000) / 100).toFixed(2),
      ),
    )
    const { text } = blockMap(page, txs, { all: '#all' })!
    expect(brotliCompressSync(text).length).toBeLessThan(10_000)
    const linked = text.match(/href="\/tx\//g)!.length
    const rest = [...text.matchAll(/<title>([\d,]+) smaller transactions/g)].map(([, count]) =>
      Number(count!.replaceAll(',', '')),
    )
    expect(linked).toBe(100)
    expect(rest).toHaveLength(SHOWN_BANDS.length)
    expect(rest.reduce((sum, count) => sum + count, linked)).toBe(5_000)
  })

  it('has bands of rates whose lower edges are those of the history of the mempool, and belong to them', () => {
    for (const [band, edge] of SHOWN_BANDS.entries()) {
      expect(RATE_BANDS).toContain(edge)
      expect(bandOf(edge)).toBe(band)
      if (band > 0) expect(bandOf((Number(edge) - 0.01).toFixed(2))).toBe(band - 1)
    }
  })
})
