import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { apiExamples, pageExamples } from '../../deploy/api-examples.js'
import { READS } from '../../services/explorer/core/reads/index.js'
import { readPages } from '../content/pages.js'

const FILE = join(
  resolve(import.meta.dirname, '../..'),
  'services/explorer/faces/rest/description/examples.json',
)

describe('the examples of OpenAPI', () => {
  // test/system/content-examples.test.ts compares those of the pages with real answers.
  it('are those of the documentation, for every read and for broadcasting: npm run proto', () => {
    const examples = apiExamples(readPages().map(({ source }) => source))
    expect(Object.keys(examples)).toEqual([...READS.map(({ name }) => name), 'sendTransaction'])
    expect(`${JSON.stringify(examples, null, 2)}\n`).toBe(readFileSync(FILE, 'utf8'))
  })

  it('have the arguments of path, query and body', () => {
    const page = [
      '```sh\ncurl "http://127.0.0.1:8080/api/v1/block/7/txs?limit=1&page=2"\n```\n\n```json\n{ "items": [] }\n```\n',
      '```sh\ncurl -d \'{"a":[1]}\' http://127.0.0.1:8080/api/v1/x\n```\n\n```json\n{ "error": "x" }\n```\n',
    ].join('\n')
    expect(pageExamples(page)).toEqual([
      { path: '/api/v1/block/7/txs?limit=1&page=2', answer: { items: [] } },
      { path: '/api/v1/x', body: '{"a":[1]}', answer: { error: 'x' } },
    ])
    const reads = READS.filter(({ name }) => name === 'blockTransactions')
    expect(apiExamples([page], reads)['blockTransactions']?.args).toEqual({
      heightOrHash: '7',
      limit: '1',
      page: '2',
    })
    expect(() => apiExamples([page])).toThrow('no page of content/ has an example of blocks')
  })
})
