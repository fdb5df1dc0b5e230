import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Definitions } from '../../../../../services/explorer/core/definitions/definitions.js'
import { parseLabels } from '../../../../../services/explorer/core/definitions/labels.js'
import { parseMiningPools } from '../../../../../services/explorer/core/definitions/mining-pools.js'
import { until } from '../../../../harness/until.js'

/** An address of the recording. */
const PLAIN = 'qcrt1qu7mnt8xcgjvjw5uf0hht856lvrlxr5yfky956c'
const line = (fields: object): string =>
  JSON.stringify({ address: PLAIN, label: 'A', category: 'exchange', ...fields })

describe('labels', () => {
  it('are read from JSON lines; empty lines are ignored', () => {
    const labels = parseLabels(`\n${line({ url: 'https://example.com/', verified: true })}\n\n`)
    expect(labels.all()).toEqual([
      { address: PLAIN, label: 'A', category: 'exchange', url: 'https://example.com/', verified: true },
    ])
    expect(labels.all('pool')).toEqual([])
  })

  it.each([undefined, null, ''])('have no url if it is %j', (url) => {
    expect(parseLabels(line({ url })).all()[0]?.url).toBeNull()
  })

  it.each([
    ['{"address":', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    [line({ address: 'qcrt1nothing' }), 'qcrt1nothing is not an address of any known chain'],
    [line({ label: '' }), 'label must be a string'],
    [line({ category: 5 }), 'category must be a string'],
    [line({ url: 'javascript:alert(1)' }), 'url must be an http or https URL, or null'],
    [line({ verified: 'yes' }), 'verified must be true or false'],
    [line({ label: 'B' }), `${PLAIN} has two labels; expected one per address`],
  ])('%s is an error with its line', (wrong, what) => {
    expect(() => parseLabels(`${line({})}\n\n${wrong}\n`)).toThrow(`line 3: ${what}`)
  })
})

const pools = (...list: object[]): string => JSON.stringify(list, null, 1)
const mined = (blockHash: string, text: string) => ({
  blockHash,
  payouts: '',
  coinbaseScript: Buffer.from(`\u0003abc${text}`).toString('hex'),
})

describe('mining pools', () => {
  it("are read in the format of mempool's file, and found by tag in any case", () => {
    const read = parseMiningPools(
      pools(
        {
          id: 1,
          name: 'F2Pool',
          addresses: ['1KFHE7w8BhaENAswwryaoccDb6qcT6DbYY'],
          tags: ['/F2Pool/', '七彩神仙鱼'],
          link: '',
        },
        { id: 2, name: 'Ant Pool', addresses: [], tags: ['antpool'], link: 'https://example.com/' },
      ),
    )
    expect(read.minerOf(mined('1', 'by /f2POOL/')).pool).toMatchObject({
      name: 'F2Pool',
      slug: 'f2pool',
      link: null,
    })
    expect(read.minerOf(mined('2', '七彩神仙鱼')).pool).toMatchObject({ name: 'F2Pool' })
    expect(read.minerOf(mined('3', 'AntPool x')).pool).toMatchObject({
      slug: 'antpool',
      link: 'https://example.com/',
    })
    expect(read.minerOf(mined('4', 'nobody')).pool).toBeUndefined()
  })

  it('whose names have the same letters have different slugs; a slug in the file is kept', () => {
    const read = parseMiningPools(
      pools(
        { name: 'Coin India', tags: ['/one/'] },
        { name: 'CoinIndia', tags: ['/two/'] },
        { name: 'Coin-India', tags: ['/three/'] },
        { name: 'Third', slug: 'coinindia-2', tags: ['/given/'] },
        { name: 'Un-known', tags: ['/named/'] },
      ),
    )
    const slugs = ['/one/', '/two/', '/three/', '/given/', '/named/'].map(
      (tag) => read.minerOf(mined(tag, tag)).pool?.slug,
    )
    expect(slugs).toEqual(['coinindia', 'coinindia-3', 'coinindia-4', 'coinindia-2', 'unknown-2'])
  })

  it.each(['pool.example.org', 'javascript:alert(1)', 'file:///x', '', null])(
    'have no link if it is %j, which leads to no web page',
    (link) => {
      const read = parseMiningPools(pools({ name: 'A', tags: ['/a/'], link }))
      expect(read.minerOf(mined('1', '/a/')).pool).toMatchObject({ name: 'A', link: null })
    },
  )

  it.each([
    ['[\n {"name": "A",\n }', 'line 3: is not JSON'],
    ['{}', 'line 1: must be an array of pools'],
    ['[\n  5\n]', 'line 2: a pool must be an object'],
    ['[{"name": "A"},\n {"tags": []}]', 'line 2: a pool must have a name'],
    ['[{"name": "A",\n "tags": ["x",\n ""]}]', 'line 3: tags must contain strings only'],
    ['[{"name": "A",\n "addresses": "x"}]', 'line 2: addresses must be an array of strings'],
    ['[{"name": "A",\n "link": 5}]', 'line 2: link must be a string'],
    ['[{"name": "A"},\n{"name": "A"}]', 'line 2: pool A is defined twice'],
    ['[{"name": "A", "slug": "x"},\n{"name": "B", "slug": "x"}]', 'line 2: slug x is defined twice'],
    ['[{"name": "A",\n "slug": ""}]', 'line 2: slug must not be empty'],
    ['[{"name": "A",\n "slug": " "}]', 'line 2: slug must not be empty'],
    ['[{"name": "A",\n "slug": "unknown"}]', 'line 2: slug must not be Unknown'],
    ['[{"slug": "a",\n "name": "Unknown"}]', 'line 2: name must not be Unknown'],
    ['', 'line 1: is not JSON'],
  ])('%j is refused', (text, what) => {
    expect(() => parseMiningPools(text)).toThrow(what)
  })
})

describe('a file that is edited', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-definitions-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => vi.useRealTimers())

  /** A file is not checked in the second of its change, but in the next. */
  async function lookedAt(): Promise<void> {
    vi.advanceTimersByTime(1_000)
    await until('the file was checked', () => vi.getTimerCount() === 1)
  }

  it('is read again after it is replaced or changed; one with an error is reported with its line and changes nothing', async () => {
    const path = join(folder, 'labels.jsonl')
    const reported: string[] = []
    const logger = pino({ level: 'error' }, { write: (text: string) => reported.push(text) })
    const definitions = new Definitions({ labels: path }, logger)
    await definitions.start()
    expect(definitions.refused()[0]).toEqual({ file: 'labels', isRefused: true })
    await writeFile(path, line({}))
    await lookedAt()
    expect(definitions.labels.all()).toHaveLength(1)
    const { version } = definitions
    await writeFile(path, `${line({ label: 'Other' })}\n{`)
    await lookedAt()
    expect(definitions.refused()[0]?.isRefused).toBe(true)
    expect(reported.at(-1)).toContain('line 2: is not JSON')
    expect(definitions.labels.all()[0]?.label).toBe('A')
    expect(definitions.version).toBe(version)
    await writeFile(path, Buffer.from(`${line({})}\n${line({ label: 'Ö' })}`, 'latin1'))
    await lookedAt()
    expect(reported.at(-1)).toContain('line 2: is not UTF-8')
    await writeFile(path, `\uFEFF${line({ label: 'Marked �' })}`)
    await lookedAt()
    expect(definitions.labels.all()[0]?.label).toBe('Marked �')
    await writeFile(`${path}.new`, line({ label: 'Renamed' }))
    await rename(`${path}.new`, path)
    await lookedAt()
    expect(definitions.labels.all()[0]?.label).toBe('Renamed')
    await rm(path)
    await lookedAt()
    expect(definitions.refused()[0]?.isRefused).toBe(true)
    expect(definitions.labels.all()[0]?.label).toBe('Renamed')
    definitions.close()
  })

  it('is read as soon as it is readable, even if unchanged; until then one error is logged', async () => {
    const path = join(folder, 'secret.jsonl')
    const reported: string[] = []
    const logger = pino({ level: 'error' }, { write: (text: string) => reported.push(text) })
    await writeFile(path, line({}), { mode: 0 })
    await chmod(folder, 0o755)
    const definitions = new Definitions({ labels: path }, logger)
    // Root may read every file.
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(65_534)
    try {
      await definitions.start()
      for (let look = 0; look < 3; look++) await lookedAt()
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
    expect(definitions.refused()[0]?.isRefused).toBe(true)
    expect(reported).toEqual([expect.stringContaining('EACCES')])
    await chmod(path, 0o644)
    await lookedAt()
    expect(definitions.labels.all()).toHaveLength(1)
    expect(definitions.refused()[0]?.isRefused).toBe(false)
    definitions.close()
  })
})
