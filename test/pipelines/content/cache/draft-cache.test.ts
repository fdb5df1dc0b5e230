import { mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../pipelines/content/document.js'
import { DraftCache, keyOf, type Parsed } from '../../../../pipelines/content/cache/draft-cache.js'

let folder: string
let said: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-drafts-'))
  said = []
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const quiet = () => undefined
const open = (at = folder) =>
  new DraftCache(at, {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (fields, message) => void said.push(`${message} ${JSON.stringify(fields)}`),
  })

const KEY = keyOf('version', 'text', 'page.md')
const PARSED: Parsed = { error: { line: 3, message: 'Zeichen: ü \ud83d\ude00' } }
const HOUR_AGO = new Date(Date.now() - 3_600_000)

describe('an entry', () => {
  it('is read by another process', async () => {
    await open().put(KEY, PARSED)
    expect(open().get(KEY)).toEqual(PARSED)
    expect(open().get(keyOf('other'))).toBeUndefined()
    expect(await readdir(folder)).toEqual([`${KEY}.json`])
  })

  it('contains a draft as it was parsed', async () => {
    const draft = parseDocument('# Ü\n\n::: tip\nSee [b](b.md).\n:::\n\n## Part\n\nText\n', 'a.md')
    await open().put(KEY, { draft })
    expect(open().get(KEY)).toEqual({ draft })
    expect(draft.marked).toBeDefined()
    expect(draft.sections).toHaveLength(2)
    const plain = parseDocument('Text', 'b.md')
    await open().put(keyOf('plain'), { draft: plain })
    expect(open().get(keyOf('plain'))).toEqual({ draft: plain })
  })

  it('does not exist if it is incomplete, altered or empty, and is written again', async () => {
    const path = join(folder, `${KEY}.json`)
    await open().put(KEY, PARSED)
    const bytes = await readFile(path)
    for (let length = 0; length < bytes.length; length++) {
      await truncate(path, length)
      expect(open().get(KEY), String(length)).toBeUndefined()
      await writeFile(path, bytes)
    }
    for (let at = 0; at < bytes.length; at++) {
      const altered = Buffer.from(bytes)
      altered[at]! ^= 1
      await writeFile(path, altered)
      expect(open().get(KEY), String(at)).toBeUndefined()
    }
    await open().put(KEY, PARSED)
    expect(open().get(KEY)).toEqual(PARSED)
  })

  it('may be written by several processes at once', async () => {
    const caches = Array.from({ length: 20 }, () => open())
    const seen = await Promise.all(
      caches.map(async (cache) => {
        await cache.put(KEY, PARSED)
        return cache.get(KEY)
      }),
    )
    expect(seen).toEqual(caches.map(() => PARSED))
    expect(await readdir(folder)).toEqual([`${KEY}.json`])
  })
})

describe('a claim', () => {
  it('belongs to one process at a time', async () => {
    const claims = await Promise.all(Array.from({ length: 20 }, () => open().claim(KEY)))
    const [release] = claims.filter((claim) => claim !== undefined)
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
    expect(await open().claim(keyOf('other'))).toBeDefined()
    await release!()
    expect(await open().claim(KEY)).toBeDefined()
  })

  it('is taken over if its process does not renew it', async () => {
    await open().claim(KEY)
    await utimes(join(folder, `${KEY}.claim`), HOUR_AGO, HOUR_AGO)
    expect(await open().claim(KEY)).toBeDefined()
    expect(await open().claim(KEY)).toBeUndefined()
  })
})

describe('sweeping', () => {
  const write = async (name: string, isOld: boolean, bytes = 10): Promise<void> => {
    await writeFile(join(folder, name), '')
    await truncate(join(folder, name), bytes)
    if (isOld) await utimes(join(folder, name), HOUR_AGO, HOUR_AGO)
  }

  it('removes old entries that are not used, and what killed processes have left', async () => {
    for (const name of ['used.json', 'unused.json', 'a.part', 'a.claim']) await write(name, true)
    for (const name of ['young.json', 'b.part', 'b.claim']) await write(name, false)
    await open().sweep(new Set(['used']))
    expect((await readdir(folder)).sort()).toEqual(['b.claim', 'b.part', 'used.json', 'young.json'])
  })

  it('limits the size of unused entries, whatever their age', async () => {
    await write('used.json', true, 100 * 2 ** 20)
    await write('older.json', false, 40 * 2 ** 20)
    await utimes(join(folder, 'older.json'), new Date(Date.now() - 60_000), new Date(Date.now() - 60_000))
    await write('newer.json', false, 40 * 2 ** 20)
    await open().sweep(new Set(['used']))
    expect((await readdir(folder)).sort()).toEqual(['newer.json', 'used.json'])
  })
})

describe('a folder that cannot be written', () => {
  it('is logged once, and is like an empty cache', async () => {
    await writeFile(join(folder, 'file'), '')
    const cache = open(join(folder, 'file', 'drafts'))
    for (let round = 0; round < 3; round++) {
      expect(await cache.claim(KEY)).toBeDefined()
      await cache.put(KEY, PARSED)
      expect(cache.get(KEY)).toBeUndefined()
      await cache.sweep(new Set())
    }
    expect(said).toHaveLength(1)
    expect(said[0]).toContain('parsed pages cannot be stored')
  })
})
