import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marked } from '../../../../services/docs/search/search.js'
import { startBareDocs, type BareDocs } from '../bare-docs.js'

let docs: BareDocs

beforeAll(async () => {
  docs = await startBareDocs()
})

afterAll(async () => {
  await docs.close()
})

const find = async (query: string) => (await docs.get(`/api/search?${query}`)).json()

describe('GET /api/search', () => {
  it('is a flat list: each page, then its hits; the match is marked, the rest escaped', async () => {
    const content = 'A &lt;b&gt; &amp; <mark>start</mark>!'
    const breadcrumbs = ['Guide']
    expect(await find('query=start')).toEqual([
      { id: '/guide/start', type: 'page', url: '/guide/start', content, breadcrumbs },
      { id: '/guide/start-0', type: 'heading', url: '/guide/start#first', content, breadcrumbs },
      { id: '/guide/start-1', type: 'text', url: '/guide/start#first', content, breadcrumbs },
      { id: '/guide/start-2', type: 'text', url: '/guide/start', content: 'none', breadcrumbs },
      { id: '/', type: 'page', url: '/', content: 'Home' },
    ])
  })

  it('forwards tag and limit', async () => {
    expect(await find('query=a%20b&limit=2&tag=begin')).toHaveLength(2)
    expect(docs.worker.searches.at(-1)).toMatchObject({ query: 'a b', limit: 2, tag: 'begin' })
    await find('query=x')
    expect(docs.worker.searches.at(-1)).toMatchObject({ limit: 60, tag: '' })
  })

  it.each(['', 'query=', 'query=%20', 'limit=5'])('finds nothing for %j', async (query) => {
    const requested = docs.worker.searches.length
    expect(await find(query)).toEqual([])
    expect(docs.worker.searches).toHaveLength(requested)
  })

  it.each(['0', '61', '-1', '1.5', 'x', '1e1', '9999999999'])('refuses the limit %s', async (limit) => {
    const response = await docs.get(`/api/search?query=x&limit=${limit}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: 'limit must be an integer from 1 to 60',
      code: 'HW_INVALID_ARGUMENT',
    })
  })
})

describe('marks', () => {
  it('do not change the text, whatever it is and wherever they are', () => {
    const spans = fc.array(fc.record({ start: fc.nat(30), end: fc.nat(30) }))
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '>', '&', '"', 'a', '<mark>') }),
        spans,
        (text, of) => {
          const html = marked(text, of)
          expect(html.replace(/<\/?mark>/g, '')).not.toMatch(/[<>"]/)
          const read = html
            .replace(/<\/?mark>/g, '')
            .replace(
              /&(lt|gt|quot|amp);/g,
              (_, name: string) => ({ lt: '<', gt: '>', quot: '"' })[name] ?? '&',
            )
          expect(read).toBe(text)
        },
      ),
    )
  })
})
