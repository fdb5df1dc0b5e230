import { describe, expect, it } from 'vitest'
import { searchText, timeIn } from '../../../../../../services/explorer/core/reads/chain/search-text.js'

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
    [`1:${TXID}`, TXID],
    [`https://mempool.space/tx/${TXID}`, TXID],
    [`https://mempool.space/testnet4/tx/${TXID}#flow=&vout=1`, TXID],
    [`https://mempool.space/tx/${TXID}:1`, TXID],
    [`https://mempool.space/de/tx/0:${TXID}`, TXID],
    ['https://mempool.space/block/840000', '840000'],
    ['https://explorer.example/mempool/block/2', 'https://explorer.example/mempool/block/2'],
    [`https://mempool.space/address/${BASE58}`, BASE58],
    ['https://mempool.space/mining/pool/foundryusa', 'foundryusa'],
    ['https://mempool.space/api/block-height/840000', '840000'],
    [`https://blockstream.info/tx/${TXID}?expand`, TXID],
    [`https://blockstream.info/nojs/tx/${TXID}?output:0`, TXID],
    ['https://blockstream.info/block-height/840000', '840000'],
    [`https://blockstream.info/testnet/address/${ADDRESS}`, ADDRESS],
    [`https://blockchair.com/bitcoin/transaction/${TXID}?_type=utxo`, TXID],
    ['https://blockchair.com/bitcoin/block/840000', '840000'],
    [`https://blockchair.com/de/bitcoin/address/${BASE58}`, BASE58],
    [`https://www.blockchain.com/explorer/transactions/btc/${TXID}`, TXID],
    ['https://www.blockchain.com/explorer/blocks/btc/840000', '840000'],
    [`https://www.blockchain.com/explorer/addresses/btc/${BASE58}`, BASE58],
    [`https://live.blockcypher.com/btc/tx/${TXID}/`, TXID],
    [`(${TXID.slice(0, 12)}…)`, TXID.slice(0, 12)],
    ['Block 4,215', '4215'],
    ['block #4215', '4215'],
    [`txid: ${TXID}`, TXID],
    [`addr(${ADDRESS})#8fhd9pwu`, ADDRESS],
    [`raw(${TXID})`, TXID],
    ['2026-11-20 14:30', '2026-11-20 14:30'],
    ['"2026/11/20"', '2026/11/20'],
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

describe('the time of a search', () => {
  it.each([
    ['2026-11-20', '2026-11-20T00:00:00Z'],
    ['2026/11/20', '2026-11-20T00:00:00Z'],
    ['2026-1-2', '2026-01-02T00:00:00Z'],
    ['20.11.2026', '2026-11-20T00:00:00Z'],
    ['20.11.2026, 14:30:05 UTC', '2026-11-20T14:30:05Z'],
    ['2026-11-20 14:30', '2026-11-20T14:30:00Z'],
    ['2026-11-20T14:30:05Z', '2026-11-20T14:30:05Z'],
    ['2026-11-20T14:30:05.000Z', '2026-11-20T14:30:05Z'],
    ['2026-11-20T00:30+01:00', '2026-11-19T23:30:00Z'],
    ['2026-11-20 14:30:05-0530', '2026-11-20T20:00:05Z'],
    ['1795185005', '2026-11-20T14:30:05Z'],
    ['1795185005000', '2026-11-20T14:30:05Z'],
  ])('%s is %s', (text, time) => {
    expect(timeIn(text)).toBe(Date.parse(time) / 1000)
  })

  it.each([
    '2026-02-30',
    '2026-13-01',
    '2026-11-20 24:00',
    '2026-11-20 12:60',
    '2026-11',
    '999999999',
    '0.001',
  ])('%s is none', (text) => {
    expect(timeIn(text)).toBeUndefined()
  })
})
