import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cache, cacheFolder } from '../cache.js'
import { shuffled, Supply } from '../large-chain.js'

describe('the cache of benchmarks', () => {
  let folder: string
  let root: string
  let builds: number
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-cache-'))
    root = join(folder, 'repository')
    await mkdir(join(root, 'tables'), { recursive: true })
    await writeFile(join(root, 'tables/1.sql'), 'CREATE TABLE a')
    builds = 0
  })
  afterEach(() => rm(folder, { recursive: true }))
  const part = (options: readonly number[] = [1], build = async (_: string): Promise<void> => undefined) =>
    new Cache(join(folder, 'kept'), root).part('index', { options, sources: ['tables'] }, 1, async (path) => {
      builds++
      await writeFile(join(path, `build-${String(builds)}`), '')
      await build(path)
    })

  it('builds a part once', async () => {
    const path = await part()
    expect(await part()).toBe(path)
    expect(builds).toBe(1)
    expect(path.startsWith(join(folder, 'kept'))).toBe(true)
  })

  it('builds a part again if its options or its sources change, and removes the earlier one', async () => {
    const path = await part()
    await part([2])
    expect(builds).toBe(2)
    await writeFile(join(root, 'tables/1.sql'), 'CREATE TABLE b')
    await part([2])
    expect(builds).toBe(3)
    expect(readdirSync(path).sort()).toEqual(['build-3', 'format'])
  })

  it('builds a part again that was not completed', async () => {
    await expect(part([1], () => Promise.reject(new Error('interrupted')))).rejects.toThrow('interrupted')
    const path = await part()
    expect(builds).toBe(2)
    expect(existsSync(join(path, 'build-1'))).toBe(false)
  })

  it('builds nothing without enough space', async () => {
    const cache = new Cache(join(folder, 'kept'), root)
    const build = (): Promise<void> => Promise.resolve(void builds++)
    await expect(cache.part('index', { options: [], sources: ['tables'] }, 1e18, build)).rejects.toThrow(
      'set BENCH_CACHE_DIR',
    )
    expect(builds).toBe(0)
  })

  it('is outside the repository', () => {
    expect(cacheFolder({ BENCH_CACHE_DIR: '/data/bench' }, '/src', false)).toBe('/data/bench')
    expect(cacheFolder({ BENCH_CACHE_DIR: '/data/bench' }, '/src', true)).toBe('/data/bench/quick')
    expect(cacheFolder({ XDG_CACHE_HOME: '/cache' }, '/src', false)).toBe('/cache/headwater-bench')
    expect(cacheFolder({ BENCH_CACHE_DIR: '/src2' }, '/src', false)).toBe('/src2')
    for (const inside of ['/src', '/src/.data', '/other/../src/x'])
      expect(() => cacheFolder({ BENCH_CACHE_DIR: inside }, '/src', false)).toThrow('outside the repository')
  })
})

describe('keys of a load', () => {
  it('are in an order that is random and always the same', () => {
    const numbers = Array.from({ length: 1000 }, (_, index) => index)
    const order = shuffled(numbers)
    expect(shuffled(numbers)).toEqual(order)
    expect(order.toSorted((a, b) => a - b)).toEqual(numbers)
    const inPlace = order.filter((number, at) => number === at).length
    expect(inPlace).toBeLessThan(20)
    const firstHalf = order.slice(0, 500).reduce((sum, number) => sum + number, 0) / 500
    expect(Math.abs(firstHalf - 499.5)).toBeLessThan(60)
  })

  it('are each used once', () => {
    const supply = new Supply([1, 2, 3])
    expect(supply.take(2)).toEqual([1, 2])
    expect(() => supply.take(2)).toThrow('too few')
    expect(supply.take(1)).toEqual([3])
  })
})
