import { describe, expect, it } from 'vitest'
import { parseLogUrl } from '../../../pipelines/log/address.js'

describe('the address of a log', () => {
  it.each([
    ['sqlite:///var/lib/a%20log', { kind: 'embedded', folder: '/var/lib/a log' }],
    ['kafka://a:9092', { kind: 'kafka', brokers: ['a:9092'], prefix: 'headwater' }],
    ['kafka://a.b:1,10.0.0.1:2/', { kind: 'kafka', brokers: ['a.b:1', '10.0.0.1:2'], prefix: 'headwater' }],
    ['kafka://a:1,b:2/main-net', { kind: 'kafka', brokers: ['a:1', 'b:2'], prefix: 'main-net' }],
  ])('%s', (url, address) => {
    expect(parseLogUrl(url)).toEqual(address)
  })

  it.each([
    'kafka://user:secret@a:9092',
    'kafka://a',
    'kafka://a:1,',
    'kafka://a:1/x y',
    'kafka://a:1/x/y',
    'sqlite://host/folder',
    'lmdb:///folder',
    'pulsar://u:secret@host',
    'nonsense',
  ])('refuses %s, and does not repeat it in the error', (url) => {
    expect(() => parseLogUrl(url)).toThrow(/must be sqlite:\/\/\/folder or kafka:/)
    expect(() => parseLogUrl(url)).not.toThrow(/secret/)
  })
})
