import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Journal, readJournals } from '../../../../pipelines/retrieval/disk/journal.js'
import { wordVector } from '../fake-model.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-journal-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const hash = (digit: string): string => digit.repeat(64)
const VECTORS = ['a', 'b', 'c'].map((digit) => [hash(digit), wordVector(`word ${digit}`)] as const)

it('the vectors of all journals of a model are read', async () => {
  const journal = new Journal(folder, 'one')
  await journal.append(VECTORS.slice(0, 1))
  await journal.append(VECTORS.slice(1, 2))
  await new Journal(folder, 'one').append(VECTORS.slice(2))
  await new Journal(folder, 'two').append([[hash('d'), wordVector('word')]])
  expect([...(await readJournals(folder, 'one'))].sort()).toEqual(VECTORS)
  expect([...(await readJournals(folder, 'two')).keys()]).toEqual([hash('d')])
  expect(await readJournals(join(folder, 'missing'), 'one')).toEqual(new Map())
})

it('a journal is read to its first incomplete or altered record', async () => {
  await new Journal(folder, 'one').append(VECTORS)
  const [name = ''] = await readdir(folder)
  const bytes = await readFile(join(folder, name))
  const size = bytes.length / 3
  for (const length of [0, 1, size - 1, size, 2 * size + 40, 3 * size - 1]) {
    await writeFile(join(folder, name), bytes.subarray(0, length))
    const read = await readJournals(folder, 'one')
    expect([...read], String(length)).toEqual(VECTORS.slice(0, Math.floor(length / size)))
  }
  for (const at of [0, 40, size - 1]) {
    const altered = Buffer.from(bytes)
    altered[size + at]! ^= 1
    await writeFile(join(folder, name), altered)
    expect([...(await readJournals(folder, 'one'))], String(at)).toEqual(VECTORS.slice(0, 1))
  }
})
