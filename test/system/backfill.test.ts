import { describe, expect, it } from 'vitest'
import { backfill } from '../backfill/backfill.js'
import { IS_WHOLE } from '../harness/whole.js'

const BLOCKS = IS_WHOLE ? 150 : 60
/** In CI, other tests need processors and disk, and use them. */
const LOADS = IS_WHOLE ? 1 : 0

describe('a backfill', () => {
  it('leaves no gap in the log and a clean index while other processes use processors and disk', async () => {
    const lines: string[] = []
    const { faults, log, audit } = await backfill({
      seed: 'ci',
      blocks: BLOCKS,
      txsPerBlock: 20,
      busy: LOADS,
      synced: LOADS,
      chainsDir: undefined,
      say: (line) => lines.push(line),
    })
    expect(faults, lines.join('\n')).toEqual([])
    expect(log).toMatchObject({ blocks: BLOCKS + 1, gaps: [] })
    expect(log.events).toBeGreaterThan(BLOCKS + 1)
    expect(audit?.tip.height).toBe(BLOCKS)
    expect(audit?.checks.length).toBeGreaterThan(5)
    // The mempool of this chain is empty.
    expect(audit?.checks.filter(({ checked }) => checked === 0).map(({ name }) => name)).toEqual(['mempool'])
  })
})
