import { expect, it } from 'vitest'
import { JSON_ENCODING } from '../../../../../services/explorer/core/answering/encoding.js'
import { matchesTag } from '../../../../../services/http/etag.js'

it('identifies an answer by its bytes', () => {
  const one = JSON_ENCODING.encode({ a: 'ö' })
  expect(one.body.toString()).toBe('{"a":"ö"}')
  expect(JSON_ENCODING.encode({ a: 'ö' }).etag).toBe(one.etag)
  expect(JSON_ENCODING.encode({ a: 'o' }).etag).not.toBe(one.etag)
  for (const header of [one.etag, `W/${one.etag}`, `"x", ${one.etag}`, '*'])
    expect(matchesTag(header, one.etag), header).toBe(true)
  expect(matchesTag('"x"', one.etag)).toBe(false)
})
