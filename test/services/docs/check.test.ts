import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadConfig } from '../../../services/config.js'
import { checkContent } from '../../../services/docs/check.js'
import { startBareDocs } from './bare-docs.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-check-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

const BROKEN = {
  'a.md': '[b](./b.md)\n\n[c](./none.md)\n\n<<< ./none.ts',
  'b.mdx': '[anchor](/a#none)\n\n<Chart data={load()} />\n',
  '_part.md': 'x',
}

async function check(files: Record<string, string>): Promise<{ status: number; lines: string[] }> {
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  const lines: string[] = []
  const status = await checkContent({ ...loadConfig(), contentDir: folder }, (line) => void lines.push(line))
  return { status, lines }
}

it('the check lists what readers do not get, with file and line, and fails', async () => {
  expect(await check(BROKEN)).toEqual({
    status: 1,
    lines: [
      '_part.md:1: a partial: it is no page',
      'a.md:3: ./none.md leads to no page',
      'a.md:5: ./none.ts is not included: it does not exist',
      'b.mdx:1: /a#none leads to no heading of a.md',
      'b.mdx:3: an expression of <Chart> is left out',
      '2 pages: 0 files with errors, 2 broken links, 1 broken includes, 1 expressions left out, 1 partials',
    ],
  })
})

it('the check passes if nothing is broken, and fails for a file that cannot be served', async () => {
  expect((await check({ 'a.md': '[b](./b)', 'b.mdx': '<Chart data={load()} />' })).status).toBe(0)
  const { status, lines } = await check({ 'a.md': 'x', 'b.mdx': '<Open>' })
  expect(status).toBe(1)
  expect(lines.join('\n')).toMatch(/^b\.mdx:1: .*\n.*1 files with errors/)
})

it('/health has the counts of the check', async () => {
  const docs = await startBareDocs({}, BROKEN)
  expect(await (await docs.get('/health')).json()).toMatchObject({
    broken_links: 2,
    broken_includes: 1,
    left_out: ['Chart'],
    partials: ['_part.md'],
  })
  await docs.close()
})

it('pages are found under the addresses that other sites would give them', async () => {
  const docs = await startBareDocs({}, { '(docs)/01-guide/02-install.mdx': '# Install' })
  const response = await docs.get('/guide/install')
  expect([response.status, response.headers.get('location')]).toEqual([308, '/01-guide/02-install'])
  expect((await docs.get('/docs/guide/install')).status).toBe(308)
  expect((await docs.get('/api/docs/guide/install')).status).toBe(200)
  expect((await docs.get('/docs/guide/install.mdx')).status).toBe(200)
  await docs.close()
})
