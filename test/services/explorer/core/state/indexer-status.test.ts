import { describe, expect, it } from 'vitest'
import {
  type AppliedHeartbeat,
  indexerFigures,
  Lateness,
  statusUntilMs,
} from '../../../../../services/explorer/core/state/indexer-status.js'

const NOW = Date.parse('2026-08-21T18:12:54.000Z')
const tip = { height: 100, tipHash: 'aa' }
const beat = {
  timeMs: NOW - 900,
  nodeHeight: 100,
  nodeHash: 'aa',
  pollIntervalMs: 1000,
  appliedMs: NOW - 800,
}

/** Returns the figures of an index that was never level. */
const figures = (at: typeof tip, heartbeat: AppliedHeartbeat | undefined, now: number) => {
  const lateness = new Lateness()
  if (heartbeat !== undefined) lateness.note(at, heartbeat, now)
  return indexerFigures(at, heartbeat, lateness.sinceMs, now)
}

describe('the indexer status', () => {
  it('is live if it is where the node is, however old the tip: a stalled chain', () => {
    expect(figures(tip, beat, NOW)).toEqual({
      indexerStatus: 'live',
      nodeHeight: 100,
      nodeHeaders: -1,
      tipMatch: true,
      lastReconciledAt: '2026-08-21T18:12:53.100Z',
    })
  })

  it('is syncing if it is behind the node, by height or by branch', () => {
    const behind = { indexerStatus: 'syncing', tipMatch: false }
    expect(figures(tip, { ...beat, nodeHeight: 101, nodeHash: 'bb' }, NOW)).toMatchObject(behind)
    expect(figures(tip, { ...beat, nodeHash: 'bb' }, NOW)).toMatchObject(behind)
    expect(figures({ height: -1, tipHash: '' }, beat, NOW)).toMatchObject(behind)
  })

  it('is node_syncing while the node downloads its chain, level with it or behind', () => {
    const downloading = { ...beat, headerHeight: 14_131, isDownloading: true }
    const expected = { indexerStatus: 'node_syncing', nodeHeaders: 14_131 }
    expect(figures(tip, downloading, NOW)).toMatchObject({ ...expected, nodeHeight: 100, tipMatch: true })
    expect(figures(tip, { ...downloading, nodeHeight: 600 }, NOW)).toMatchObject(expected)
    expect(figures(tip, downloading, beat.appliedMs + 5000).indexerStatus).toBe('stalled')
    expect(figures(tip, { ...downloading, isDownloading: false }, NOW).indexerStatus).toBe('live')
  })

  it('is live for the moment in which a head is ahead of the heartbeat', () => {
    const ahead = figures({ height: 101, tipHash: 'bb' }, beat, NOW)
    expect(ahead).toMatchObject({ indexerStatus: 'live', tipMatch: false })
  })

  it('is stalled after 5 poll intervals without an applied heartbeat, whatever else holds', () => {
    expect(figures(tip, beat, beat.appliedMs + 4999).indexerStatus).toBe('live')
    expect(figures(tip, beat, beat.appliedMs + 5000).indexerStatus).toBe('stalled')
    expect(figures(tip, { ...beat, nodeHeight: 900 }, beat.appliedMs + 5000).indexerStatus).toBe('stalled')
  })

  it('is not stalled if polls are more frequent than forwarded heartbeats', () => {
    const often = { ...beat, pollIntervalMs: 10 }
    expect(figures(tip, often, beat.appliedMs + 900).indexerStatus).toBe('live')
    expect(figures(tip, often, beat.appliedMs + 1000).indexerStatus).toBe('stalled')
  })

  it('is stalled before any heartbeat', () => {
    expect(figures(tip, undefined, NOW)).toMatchObject({ indexerStatus: 'stalled', nodeHeight: -1 })
  })

  it('stays live on a fast chain whose blocks arrive in time, and is syncing if one does not', () => {
    const lateness = new Lateness()
    const at = (height: number) => ({ height, tipHash: `hash ${String(height)}` })
    const seen = (height: number, now: number) => {
      const heartbeat = { ...beat, nodeHeight: height, nodeHash: `hash ${String(height)}`, appliedMs: now }
      return { heartbeat, now }
    }
    const statusOf = (indexed: number, { heartbeat, now }: ReturnType<typeof seen>) => {
      lateness.note(at(indexed), heartbeat, now)
      return indexerFigures(at(indexed), heartbeat, lateness.sinceMs, now).indexerStatus
    }
    expect(statusOf(100, seen(100, NOW))).toBe('live')
    // Always a block or two behind, for a minute.
    for (let block = 1; block <= 120; block++)
      expect(statusOf(99 + block, seen(101 + block, NOW + block * 500)), String(block)).toBe('live')
    const late = seen(222, NOW + 61_000)
    expect(statusOf(219, late)).toBe('live')
    expect(statusOf(219, seen(223, NOW + 64_000))).toBe('live')
    const since = lateness.sinceMs ?? 0
    expect(statusUntilMs({ ...beat, appliedMs: since + 4_000 }, since, since + 4_500)).toBe(since + 5_000)
    expect(statusOf(219, seen(223, since + 5_000))).toBe('syncing')
    expect(statusOf(223, seen(223, since + 5_001))).toBe('live')
    // Far behind, it is syncing at once.
    expect(statusOf(223, seen(230, since + 5_002))).toBe('syncing')
  })
})
