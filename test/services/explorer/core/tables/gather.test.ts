import { describe, expect, it } from 'vitest'
import { Gatherer } from '../../../../../services/explorer/core/tables/gather.js'

describe('gathered lookups', () => {
  /** Lookups that end when the test says so. */
  function held(options: { inFlight?: number; least?: number; maxKeys?: number } = {}) {
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

  it('queries a single key at once, and collects the keys that arrive while two batches are pending', async () => {
    const { gatherer, batches } = held({ inFlight: 2, least: 1 })
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

  it('starts a second batch beside the first one only when enough keys wait', async () => {
    const { gatherer, batches } = held({ least: 3 })
    const all = ['a', 'b', 'c'].map((key) => gatherer.get(key))
    await turn()
    const more = ['d', 'e'].map((key) => gatherer.get(key))
    await turn()
    expect(batches.map(({ keys }) => keys)).toEqual([['a', 'b', 'c']])
    more.push(gatherer.get('f'))
    await turn()
    expect(batches.map(({ keys }) => keys)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ])
    for (const batch of batches) batch.end()
    expect(await Promise.all([...all, ...more])).toEqual(['<a>', '<b>', '<c>', '<d>', '<e>', '<f>'])
  })

  it('splits what is too large for one query', async () => {
    const { gatherer, batches } = held({ inFlight: 9, least: 1, maxKeys: 2 })
    const all = gatherer.getAll(['a', 'b', 'c', 'd', 'e', 'a'])
    await turn()
    expect(batches.map(({ keys }) => keys.length)).toEqual([2, 2, 1])
    for (const batch of batches) batch.end()
    expect([...(await all)]).toHaveLength(5)
  })

  it('fails the keys of a batch that fails, and continues with the others', async () => {
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

describe('lookups of clients that disconnect', () => {
  /** Lookups that never end by themselves. */
  function endless(maxKeys: number, maxWaiting?: number) {
    const batches: { keys: readonly string[]; signal: AbortSignal }[] = []
    const load = (keys: readonly string[], signal: AbortSignal) =>
      new Promise<Map<string, string>>((_, reject) => {
        batches.push({ keys, signal })
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    const limit = maxWaiting === undefined ? {} : { maxWaiting }
    return { gatherer: new Gatherer<string>({ load, maxKeys, ...limit }), batches }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const left = new Error('no client waits')
  const outcome = (requested: Promise<unknown>): Promise<unknown> =>
    requested.catch((error: unknown) => error)

  it('are dropped, unless others wait for them too', async () => {
    const { gatherer, batches } = endless(2)
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
    const running = outcome(gatherer.get('a', first.signal))
    await turn()
    const waiting = [
      outcome(gatherer.get('b', second.signal)),
      outcome(gatherer.getAll(['b', 'c'], third.signal)),
    ]
    await turn()
    expect(gatherer.waiting).toBe(2)
    third.abort(left)
    expect(gatherer.waiting).toBe(1)
    expect(await waiting[1]).toBe(left)
    first.abort(left)
    expect(await running).toBe(left)
    await turn()
    expect(batches.map(({ keys }) => keys)).toEqual([['a'], ['b']])
    second.abort(left)
    expect(await waiting[0]).toBe(left)
    await turn()
    expect(gatherer.waiting).toBe(0)
    expect(await outcome(gatherer.get('d', second.signal))).toBe(left)
    await turn()
    expect(batches).toHaveLength(2)
  })

  it('are cancelled in flight when the last client of a batch has disconnected, not before', async () => {
    const { gatherer, batches } = endless(9)
    const clients = [new AbortController(), new AbortController()]
    const requested = clients.map(({ signal }, index) =>
      outcome(gatherer.getAll(['a', `b${String(index)}`], signal)),
    )
    await turn()
    expect(batches.map(({ keys }) => keys)).toEqual([['a', 'b0', 'b1']])
    clients[0]?.abort(left)
    expect(await requested[0]).toBe(left)
    expect(batches[0]?.signal.aborted).toBe(false)
    clients[1]?.abort(left)
    expect(await requested[1]).toBe(left)
    expect(batches[0]?.signal.aborted).toBe(true)
  })

  it('report when as many keys wait as may, whatever the size of a batch', async () => {
    const { gatherer } = endless(1, 3)
    const client = new AbortController()
    const requested = ['a', 'b', 'c'].map((key) => outcome(gatherer.get(key, client.signal)))
    await turn()
    expect([gatherer.waiting, gatherer.isFull]).toEqual([2, false])
    requested.push(outcome(gatherer.get('d', client.signal)))
    expect([gatherer.waiting, gatherer.isFull]).toEqual([3, true])
    client.abort(left)
    expect([gatherer.waiting, gatherer.isFull]).toEqual([0, false])
    await Promise.all(requested)
  })

  it('by default wait for the next batch without refusing others, also if that is large', async () => {
    const { gatherer } = endless(1_000)
    const request = (name: string, count: number): void => {
      const keys = Array.from({ length: count }, (_, at) => `${name}${String(at)}`)
      void outcome(gatherer.getAll(keys))
    }
    // Two batches are in flight; the last keys wait.
    for (const name of ['a', 'b', 'c']) request(name, 999)
    await turn()
    expect([gatherer.waiting, gatherer.isFull]).toEqual([997, false])
    request('d', 3)
    expect([gatherer.waiting, gatherer.isFull]).toEqual([1_000, true])
  })
})
