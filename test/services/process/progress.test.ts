import { describe, expect, it } from 'vitest'
import { Progress } from '../../../services/process/progress.js'

function watched(isTTY: boolean): { written: string[]; progress: Progress; at: (ms: number) => void } {
  const written: string[] = []
  let now = 1_000_000
  const out = { isTTY, write: (text: string) => written.push(text) > 0 }
  const at = (ms: number): void => {
    now = 1_000_000 + ms
  }
  return { written, progress: new Progress(out, () => now), at }
}

describe('progress', () => {
  it('is printed as plain lines at intervals without a terminal, with rate and time left', () => {
    const { written, progress, at } = watched(false)
    for (let second = 0; second <= 20; second++) {
      at(second * 1000)
      progress.step('blocks', second * 10, 200)
    }
    expect(written).toEqual([
      'blocks: 0 of 200\n',
      'blocks: 50 of 200, 10/s, 0 min 15 s left\n',
      'blocks: 100 of 200, 10/s, 0 min 10 s left\n',
      'blocks: 150 of 200, 10/s, 0 min 5 s left\n',
      'blocks: 200 of 200, 10/s, 0 min 0 s left\n',
    ])
  })

  it('is one live line on a terminal, which is cleared at the end', () => {
    const { written, progress, at } = watched(true)
    progress.step('blocks', 0, 4)
    at(2_000)
    progress.step('blocks', 1, 4)
    progress.end()
    expect(written).toEqual([
      '\r\u001b[K[........................] blocks: 0 of 4',
      '\r\u001b[K[######..................] blocks: 1 of 4, 0.5/s, 0 min 6 s left',
      '\r\u001b[K',
    ])
  })

  it('computes the rate of a resumed job from where it continued', () => {
    const { written, progress, at } = watched(false)
    progress.step('blocks', 900, 1000)
    at(10_000)
    progress.step('blocks', 950, 1000)
    expect(written.at(-1)).toBe('blocks: 950 of 1000, 5.0/s, 0 min 10 s left\n')
  })
})
