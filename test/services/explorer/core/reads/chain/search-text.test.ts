import { describe, expect, it } from 'vitest'
import { searchText } from '../../../../../../services/explorer/core/reads/chain/search-text.js'

const TXID = 'ab01'.repeat(16)
const ADDRESS = 'qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8'
const BASE58 = 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfx'

describe('the text of a search', () => {
  it.each([
    ['1780', '1780'],
    ['1,780', '1780'],
    ['1.780', '1780'],
    ['1 234 567', '1234567'],
    ['1\u00a0780', '1780'],
    ['1’780', '1780'],
    ['12,34,567', '1234567'],
    ['1,78', '1,78'],
    ['0.001', '0.001'],
    ['0.500', '0.500'],
    ['1,780.5', '1,780.5'],
    ['-1', '-1'],
    [`${TXID}:0`, TXID],
    [`${TXID.toUpperCase()}:17`, TXID],
    [`"${TXID}"`, TXID],
    [`  '${TXID}' `, TXID],
    [`“${TXID}”,`, TXID],
    [`"${TXID}:1",\n`, TXID],
    [`bitcoin:${BASE58}`, BASE58],
    [`bitcoin:${BASE58}?amount=0.5&label=a%20shop`, BASE58],
    [`bitcoin://${ADDRESS}?amount=1`, ADDRESS],
    [`BITCOIN:${ADDRESS.toUpperCase()}?AMOUNT=1`, ADDRESS],
    [`qbtc:${ADDRESS}`, ADDRESS],
    [`QBTC:${ADDRESS.toUpperCase()}`, ADDRESS],
    [ADDRESS.toUpperCase(), ADDRESS],
    [BASE58, BASE58],
    // The beginning of an address in base58, whose upper case is not that of a QR code.
    ['3J98', '3J98'],
    ['AB01', 'ab01'],
    ['QCRT1QQQQ', 'qcrt1qqqq'],
    [`https://explorer.example/tx/${TXID}`, TXID],
    [`https://explorer.example/tx/${TXID}/?a=b#c`, TXID],
    [`https://explorer.example/some/where/de/address/${BASE58}?show=utxos`, BASE58],
    [`http://127.0.0.1:8080/api/v1/address/${ADDRESS}/utxos?limit=5`, ADDRESS],
    [`/api/v1/tx/${TXID}/outspends`, TXID],
    [`explorer.example/block/1780`, '1780'],
    ['https://explorer.example/block/1780/', '1780'],
    ['HTTPS://EXPLORER.EXAMPLE/BLOCK/1780', '1780'],
    ['https://explorer.example/tx/block/12', '12'],
    [`https://explorer.example/search?lang=en&q=+%22${TXID}%3A0%22`, TXID],
    ['https://explorer.example/block/%zz', '%zz'],
    ['https://explorer.example/blocks', 'https://explorer.example/blocks'],
    ['An exchange', 'An exchange'],
    ['nonsense', 'nonsense'],
    ['"', ''],
    ['', ''],
  ])('%j is about %j', (given, text) => {
    expect(searchText(given)).toBe(text)
    expect(searchText(text)).toBe(text)
  })
})
