import { describe, expect, it } from 'vitest'
import { Gatherer } from '../../../services/explorer/gather.js'

describe('gathered lookups', () => {
  /** Lookups that end when told to. */
  function held(options: { inFlight?: number; mostKeys?: number } = {}) {
    const batches: { keys: readonly string[]; end: (error?: Error) => void }[] = []
    const gatherer = new Gatherer<string>({
      ...options,
      load: (keys) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error): void => {
            if (error !== undefined) reject(error)
            else resolve(new Map(keys.filter((key) => key !== 'none').map((key) => [key, `<${key}>`])))
          }
          batches.push({ keys, end })
        }),
    })
    return { gatherer, batches }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it('asks at once for a lone key, and collects those that come while two batches are under way', async () => {
    const { gatherer, batches } = held({ inFlight: 2 })
    const a = gatherer.get('a')
    await turn()
    const b = gatherer.get('b')
    await turn()
    const rest = ['c', 'd', 'c', 'none'].map((key) => gatherer.get(key))
    await turn()
    expect(batches.map(({ keys }) => keys)).toEqual([['a'], ['b']])
    batches[0]?.end()
    expect(await a).toBe('<a>')
    await turn()
    expect(batches[2]?.keys).toEqual(['c', 'd', 'none'])
    batches[2]?.end()
    expect(await Promise.all(rest)).toEqual(['<c>', '<d>', '<c>', undefined])
    batches[1]?.end()
    expect(await b).toBe('<b>')
  })

  it('cuts what is too much for one query', async () => {
    const { gatherer, batches } = held({ inFlight: 9, mostKeys: 2 })
    const all = gatherer.getAll(['a', 'b', 'c', 'd', 'e', 'a'])
    await turn()
    expect(batches.map(({ keys }) => keys.length)).toEqual([2, 2, 1])
    for (const batch of batches) batch.end()
    expect([...(await all)]).toHaveLength(5)
  })

  it('fails those of a batch that fails, and goes on with the others', async () => {
    const { gatherer, batches } = held({ inFlight: 1 })
    const a = gatherer.get('a')
    await turn()
    const b = gatherer.get('b')
    batches[0]?.end(new Error('away'))
    await expect(a).rejects.toThrow('away')
    await turn()
    batches[1]?.end()
    expect(await b).toBe('<b>')
  })
})
