import { describe, expect, it } from 'vitest'
import { parseArguments, rangeOf } from '../../../../../services/explorer/core/reads/arguments.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { BadArgument, type Read } from '../../../../../services/explorer/core/reads/read.js'

type Range = readonly [fallback: number | undefined, least: number, most: number]

/** The reads that answer as of any block. */
const PAST = [
  ...['/blocks', '/block/:heightOrHash', '/block/:heightOrHash/txs'],
  ...['/tx/:txid', '/tx/:txid/status', '/tx/:txid/outspends', '/addresses', '/address/:address'],
  ...[
    '/address/:address/txs',
    '/address/:address/utxos',
    '/address/:address/balance-history',
    '/address/:address/exposure',
  ],
  ...['/wallet', '/wallet/addresses', '/wallet/txs', '/wallet/utxos'],
  ...['/stats/summary', '/stats/supply', '/stats/richlist', '/stats/daily', '/stats/dilithium'],
  ...[
    '/stats/dilithium/history',
    '/stats/value',
    '/stats/value/history',
    '/stats/exposure',
    '/stats/exposure/history',
  ],
]

/** The other integer arguments of the contract and of its additions. */
const OTHERS: Readonly<Record<string, Readonly<Record<string, Range>>>> = {
  '/blocks': { page: [1, 1, Number.MAX_SAFE_INTEGER], limit: [20, 1, 100] },
  '/block/:heightOrHash/txs': { page: [1, 1, Number.MAX_SAFE_INTEGER], limit: [25, 1, 100] },
  '/txs/recent': { limit: [10, 1, 50] },
  '/address/:address/txs': { page: [1, 1, Number.MAX_SAFE_INTEGER], limit: [25, 1, 100] },
  '/address/:address/utxos': { limit: [100, 1, 500], offset: [0, 0, Number.MAX_SAFE_INTEGER] },
  '/address/:address/balance-history': { limit: [30, 1, 365] },
  '/wallet': { gap_limit: [20, 1, 200] },
  '/wallet/addresses': {
    gap_limit: [20, 1, 200],
    limit: [100, 1, 500],
    offset: [0, 0, Number.MAX_SAFE_INTEGER],
  },
  '/wallet/txs': {
    gap_limit: [20, 1, 200],
    page: [1, 1, Number.MAX_SAFE_INTEGER],
    limit: [25, 1, 500],
  },
  '/wallet/utxos': {
    gap_limit: [20, 1, 200],
    limit: [100, 1, 500],
    offset: [0, 0, Number.MAX_SAFE_INTEGER],
  },
  '/mempool/blocks': { limit: [8, 1, 30] },
  '/mempool/blocks/txs': { block: [1, 1, 30] },
  '/mempool/blocks/expected': { limit: [20, 1, 100] },
  '/mempool/history': { limit: [120, 1, 1_440] },
  '/block/:heightOrHash/expected': { limit: [100, 1, 1_000] },
  '/fees/history': { limit: [144, 1, 2_016] },
  '/reorgs': { page: [1, 1, Number.MAX_SAFE_INTEGER], limit: [20, 1, 100] },
  '/mempool/txs': { limit: [20, 1, 100] },
  '/mempool/replacements': { limit: [25, 1, 100] },
  '/mempool/txids': { limit: [1_000, 1, 10_000] },
  '/search/prefix': { limit: [10, 1, 50] },
  '/stats/richlist': { page: [1, 1, Number.MAX_SAFE_INTEGER], limit: [100, 1, 500] },
  '/stats/daily': { limit: [30, 1, 365] },
  '/stats/dilithium/history': { limit: [30, 1, 365] },
  '/stats/value': { limit: [20, 1, 20] },
  '/stats/value/history': { limit: [30, 1, 365] },
  '/stats/exposure/history': { limit: [30, 1, 365] },
  '/mining/pool': { limit: [20, 1, 100] },
  '/mining/pools': { window: [1440, 1, 10_000] },
  '/mining/difficulty': { limit: [2000, 1, 20_160], windowMinutes: [undefined, 1, 10_080] },
  '/mining/hashrate': { limit: [30, 1, 365] },
  '/mining/network-hashrate': { window: [1440, 2, 10_080] },
  '/whale-alerts': { limit: [20, 1, 100] },
  '/labels': { limit: [100, 1, 500] },
  '/op-returns': { limit: [50, 1, 100], offset: [0, 0, Number.MAX_SAFE_INTEGER] },
}

const RANGES: typeof OTHERS = {
  ...OTHERS,
  ...Object.fromEntries(
    PAST.map((path) => [path, { ...OTHERS[path], at: [undefined, 0, 2 ** 31 - 1] as const }]),
  ),
}

const VALID: Readonly<Record<string, string | readonly string[]>> = {
  addresses: ['qcrt1qxyz'],
  heightOrHash: '7',
  txid: 'ab'.repeat(32),
  address: 'qcrt1qxyz',
  q: 'abcd',
  descriptor: 'addr(qcrt1qxyz)',
}

function parse(read: Read, given: Readonly<Record<string, string>>): Record<string, unknown> {
  return parseArguments(read.args, (name) => given[name] ?? VALID[name])
}

const readAt = (path: string): Read => {
  const read = READS.find((each) => each.path === path)
  if (read === undefined) throw new Error(`no read at ${path}`)
  return read
}

describe('arguments', () => {
  for (const [path, ranges] of Object.entries(RANGES)) {
    for (const [name, [fallback, least, most]] of Object.entries(ranges)) {
      it(`accepts ${name} of ${path} within its range and nothing beyond`, () => {
        const read = readAt(path)
        expect(parse(read, {})[name]).toBe(fallback)
        for (const edge of [least, most]) expect(parse(read, { [name]: String(edge) })[name]).toBe(edge)
        const message = `${name} must be an integer from ${String(least)} to ${String(most)}`
        const beyond = [least - 1, most + 1].map(String)
        for (const wrong of [...beyond, '', ' 1', '1.5', '1e1', '+1', '0x1', 'one', '9'.repeat(30)])
          expect(() => parse(read, { [name]: wrong }), wrong).toThrow(new BadArgument(message))
      })
    }
  }

  it('declares every integer argument of the contract and no other', () => {
    const declared = READS.flatMap((read) =>
      Object.entries(read.args)
        .filter(([, schema]) => (schema as { type?: string }).type === 'integer')
        .map(([name]) => `${read.path} ${name}`),
    )
    const expected = Object.entries(RANGES).flatMap(([path, ranges]) =>
      Object.keys(ranges).map((name) => `${path} ${name}`),
    )
    expect(declared.sort()).toEqual(expected.sort())
  })

  it.each(['', 'ab', 'g'.repeat(64), 'a'.repeat(65), '-1', '1.0', '12345678901'])(
    'refuses %j as a height or hash',
    (heightOrHash) => {
      expect(() => parse(readAt('/block/:heightOrHash'), { heightOrHash })).toThrow(
        'heightOrHash must be a block height or a hash of 64 hexadecimal characters',
      )
    },
  )

  it.each(['0', '4294967295', 'AB'.repeat(32)])('accepts %j as a height or hash', (heightOrHash) => {
    expect(parse(readAt('/block/:heightOrHash'), { heightOrHash })).toEqual({ heightOrHash })
  })

  it.each(['', 'ab', 'z'.repeat(64), '12'])('refuses %j as a txid', (txid) => {
    expect(() => parse(readAt('/tx/:txid'), { txid })).toThrow('txid must be 64 hexadecimal characters')
  })

  it('requires q, of 1 to 100 characters that are not all spaces', () => {
    const { args } = readAt('/search')
    const message =
      'q must be 1 to 100 characters, not all of them spaces; a URL, a public key or a script may have 380'
    for (const q of [undefined, '', '  ', '\t\n\u3000', 'x'.repeat(381)])
      expect(() => parseArguments(args, () => q)).toThrow(message)
    expect(parseArguments(args, () => 'x'.repeat(100))).toEqual({ q: 'x'.repeat(100) })
  })

  it('accepts sort and witness as they are declared', () => {
    const txs = readAt('/address/:address/txs')
    expect(parse(txs, {})['sort']).toBe('desc')
    expect(parse(txs, { sort: 'asc' })['sort']).toBe('asc')
    expect(() => parse(txs, { sort: 'ASC' })).toThrow('sort must be asc or desc')
    const recent = readAt('/txs/recent')
    expect(parse(recent, { witness: 'true' })['witness']).toBe(true)
    expect(() => parse(recent, { witness: '1' })).toThrow('witness must be true or false')
  })

  it.each(['', '2026-2-1', '2026-02-30', '20260201', '2026-02-01T00:00:00Z', 'yesterday', '-001-01-01'])(
    'refuses %j as a date',
    (from) => {
      for (const path of ['/stats/daily', '/mining/difficulty'])
        expect(() => parse(readAt(path), { from })).toThrow('from must be a calendar date, YYYY-MM-DD')
    },
  )

  it('accepts dates, and omits those that are not given', () => {
    const read = readAt('/stats/daily')
    expect(parse(read, { from: '2024-02-29' })).toEqual({ from: '2024-02-29', limit: 30 })
    expect(parse(read, {})).toEqual({ limit: 30 })
  })

  it.each(['', '-1', '1.5', '1e9', '0x10', 'x', '9'.repeat(20)])('refuses %j as minValue', (minValue) => {
    expect(() => parse(readAt('/whale-alerts'), { minValue })).toThrow(
      'minValue must be an integer number of base units, at most 19 digits',
    )
  })

  it('accepts base units as minValue, by default 1,000 coins', () => {
    expect(parse(readAt('/whale-alerts'), {})['minValue']).toBe('100000000000')
    for (const minValue of ['0', '9'.repeat(19)])
      expect(parse(readAt('/whale-alerts'), { minValue })['minValue']).toBe(minValue)
  })

  it('can describe the range of every argument', () => {
    for (const read of READS)
      for (const [name, schema] of Object.entries(read.args))
        expect(rangeOf(schema), name).not.toMatch(/undefined/)
  })
})
