import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  Defect,
  ERROR_CODES,
  HTTP_STATUS,
  isDefect,
  StartRefused,
  UsageError,
} from '../../pipelines/errors.js'
import { NodeFaultError } from '../../pipelines/node/errors.js'
import { TableMissing, QueryRefused } from '../../pipelines/tables/clickhouse.js'

const sources = ['services', 'pipelines'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return { path, text: readFileSync(path, 'utf8') }
    }),
)
const page = readFileSync('content/operate/errors.md', 'utf8')
const rows = [...page.matchAll(/^\| `(HW_\w+)` \|(?: (\d{3}) \|)?/gm)]

describe('codes', () => {
  it('are all on the operators’ page, once, and nothing else is', () => {
    const listed = rows.map(([, code]) => code)
    expect(listed).toEqual([...new Set(listed)])
    expect(listed.sort()).toEqual([...ERROR_CODES].sort())
    const named = [...page.matchAll(/HW_\w+/g)].map(([code]) => code)
    expect(named.filter((code) => !ERROR_CODES.has(code))).toEqual([])
  })

  it('are on that page with the HTTP status that clients get', () => {
    const listed = rows.flatMap(([, code = '', status]) =>
      status === undefined ? [] : [[code, Number(status)]],
    )
    expect(Object.fromEntries(listed)).toEqual(HTTP_STATUS)
  })

  it('are all used', () => {
    const code = sources
      .map(({ path, text }) =>
        path === 'pipelines/errors.ts' ? text.slice(text.indexOf('type ClientError')) : text,
      )
      .join('\n')
    const unused = [...ERROR_CODES].filter((each) => !code.includes(`'${String(each)}'`))
    expect(unused).toEqual([])
  })

  it('are present in every class of errors', () => {
    // The client, which browsers load, imports nothing: its errors have the codes of answers.
    const own = sources.filter(({ path }) => !path.includes('services/client/'))
    const bare = own.flatMap(({ path, text }) =>
      [...text.matchAll(/class \w+ extends (?:Aggregate|Range|Reference|Syntax|Type)?Error\b/g)].map(
        ([found]) => `${path}: ${found} → extends coded('HW_…')`,
      ),
    )
    expect(bare).toEqual([])
  })
})

describe('an error with a code', () => {
  it('has the name of its class, also in its stack', () => {
    const error = new UsageError('--port is a number', { cause: 7 })
    expect(error).toBeInstanceOf(StartRefused)
    expect(error).toMatchObject({ code: 'HW_USAGE', name: 'UsageError', cause: 7 })
    expect(error.stack).toMatch(/^UsageError: --port is a number\n/)
  })

  it('has the code of the most specific class, or of its kind', () => {
    expect(new TableMissing('blocks')).toMatchObject({ code: 'HW_TABLE_MISSING', name: 'TableMissing' })
    expect(new TableMissing('blocks')).toBeInstanceOf(QueryRefused)
    expect(isDefect(new TableMissing('blocks'))).toBe(true)
    expect(new NodeFaultError('busy', 'later')).toMatchObject({ code: 'HW_NODE_BUSY', kind: 'busy' })
  })
})

describe('the code of any error', () => {
  const usage = Object.assign(new TypeError('Unknown option'), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' })
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  it.each([
    [new Defect('ours'), 'HW_DEFECT'],
    [new TypeError('undefined is no function'), 'HW_DEFECT'],
    [usage, 'HW_USAGE'],
    [refused, 'HW_UNCLASSIFIED'],
    [new Error('plain'), 'HW_UNCLASSIFIED'],
    ['a text', 'HW_UNCLASSIFIED'],
    [undefined, 'HW_UNCLASSIFIED'],
  ])('%s: %s', (error, code) => {
    expect(codeOf(error)).toBe(code)
  })
})
