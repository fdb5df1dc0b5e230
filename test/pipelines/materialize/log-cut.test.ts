import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { positionOf } from '../../../pipelines/events/positions.js'
import { LogCut } from '../../../pipelines/materialize/log-cut.js'
import type { Head } from '../../../pipelines/tables/head.js'

/** A log from position 3 on, and an index whose newest head below the retained blocks has a position. */
class Parts {
  readonly dropped: number[] = []
  readonly queried: unknown[] = []
  failure: Error | undefined

  constructor(readonly below: number) {}

  cut(logBlocks?: number): LogCut {
    const db = {
      query: (_sql: string, params: unknown) => {
        this.queried.push(params)
        return Promise.resolve(this.below < 0 ? [] : [{ newest: String(this.below) }])
      },
    }
    const log = {
      first: () => Promise.resolve(3),
      drop: (_topic: string, before: number) => {
        this.dropped.push(before)
        return this.failure === undefined ? Promise.resolve() : Promise.reject(this.failure)
      },
    }
    return new LogCut({ db, log, logger: pino({ level: 'silent' }), logBlocks } as never)
  }
}

const head = (tipHeight: number, position = 200): Head => ({ tipHeight, position }) as Head

describe('a cut of the log', () => {
  it('drops what is before a head so many blocks below the tip, and again after some blocks', async () => {
    const parts = new Parts(70)
    const cut = parts.cut(40)
    for (const height of [100, 101, 115, 116]) await cut.consider(head(height))
    expect(parts.dropped).toEqual([70, 70])
    expect(parts.queried).toEqual([
      { height: 60, position: 200 },
      { height: 76, position: 200 },
    ])
  })

  it('drops nothing without a limit, a head, a head below, or anything before it', async () => {
    const parts = new Parts(70)
    await parts.cut().consider(head(100))
    await parts.cut(40).consider(undefined)
    await new Parts(-1).cut(40).consider(head(100))
    const early = new Parts(3)
    await early.cut(40).consider(head(100))
    expect([parts.dropped, early.dropped]).toEqual([[], []])
  })

  it('drops nothing by a position of a log that was replaced', async () => {
    const parts = new Parts(70)
    await parts.cut(40).consider(head(100, positionOf(1, 20)))
    expect(parts.dropped).toEqual([])
  })

  it('leaves the index alone if it fails, and is tried again', async () => {
    const parts = new Parts(70)
    parts.failure = new Error('not authorised')
    const cut = parts.cut(40)
    for (const height of [100, 116]) await cut.consider(head(height))
    expect(parts.dropped).toEqual([70, 70])
  })
})
