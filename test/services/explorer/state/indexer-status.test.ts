import { describe, expect, it } from 'vitest'
import { indexerFigures } from '../../../../services/explorer/state/indexer-status.js'

const NOW = Date.parse('2026-08-21T18:12:54.000Z')
const tip = { height: 100, tipHash: 'aa' }
const beat = {
  timeMs: NOW - 900,
  nodeHeight: 100,
  nodeHash: 'aa',
  pollIntervalMs: 1000,
  appliedMs: NOW - 800,
}

describe('the indexer status', () => {
  it('is live if it is where the node is, however old the tip: a stalled chain', () => {
    expect(indexerFigures(tip, beat, NOW)).toEqual({
      indexerStatus: 'live',
      nodeHeight: 100,
      tipMatch: true,
      lastReconciledAt: '2026-08-21T18:12:53.100Z',
    })
  })

  it('is syncing if it is behind the node, by height or by branch', () => {
    const behind = { indexerStatus: 'syncing', tipMatch: false }
    expect(indexerFigures(tip, { ...beat, nodeHeight: 101, nodeHash: 'bb' }, NOW)).toMatchObject(behind)
    expect(indexerFigures(tip, { ...beat, nodeHash: 'bb' }, NOW)).toMatchObject(behind)
    expect(indexerFigures({ height: -1, tipHash: '' }, beat, NOW)).toMatchObject(behind)
  })

  it('is live for the moment in which a head is ahead of the heartbeat', () => {
    const ahead = indexerFigures({ height: 101, tipHash: 'bb' }, beat, NOW)
    expect(ahead).toMatchObject({ indexerStatus: 'live', tipMatch: false })
  })

  it('is stalled after 5 poll intervals without an applied heartbeat, whatever else holds', () => {
    expect(indexerFigures(tip, beat, beat.appliedMs + 4999).indexerStatus).toBe('live')
    expect(indexerFigures(tip, beat, beat.appliedMs + 5000).indexerStatus).toBe('stalled')
    expect(indexerFigures(tip, { ...beat, nodeHeight: 900 }, beat.appliedMs + 5000).indexerStatus).toBe(
      'stalled',
    )
  })

  it('is not stalled if polls are more frequent than forwarded heartbeats', () => {
    const often = { ...beat, pollIntervalMs: 10 }
    expect(indexerFigures(tip, often, beat.appliedMs + 900).indexerStatus).toBe('live')
    expect(indexerFigures(tip, often, beat.appliedMs + 1000).indexerStatus).toBe('stalled')
  })

  it('is stalled before any heartbeat', () => {
    expect(indexerFigures(tip, undefined, NOW)).toMatchObject({ indexerStatus: 'stalled', nodeHeight: -1 })
  })
})
