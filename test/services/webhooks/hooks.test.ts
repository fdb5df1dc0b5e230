import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { BITCOIN_MAIN } from '../../../pipelines/chain/networks.js'
import { parseHooks } from '../../../services/webhooks/hooks.js'

const SECRET = `whsec_${randomBytes(24).toString('base64')}`
const TXID = 'ab'.repeat(32)
/** The address of BIP 173, and its script. */
const ADDRESS = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'
const SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6'
const VALID = { id: 'shop', url: 'https://shop.example/hook', secrets: [SECRET], addresses: [ADDRESS] }

const parse = (...entries: readonly object[]) => parseHooks(JSON.stringify(entries, null, 1), BITCOIN_MAIN)

describe('WEBHOOKS_FILE', () => {
  it('has addresses as scripts, amounts as integers, confirmations in order', () => {
    const [hook] = parse({
      ...VALID,
      scripts: ['6a'],
      transactions: [TXID],
      min_value: '12345678901234567',
      reorgs: true,
      confirmations: [6, 0, 2],
    })
    expect(hook).toEqual({
      id: 'shop',
      url: VALID.url,
      secrets: [Buffer.from(SECRET.slice(6), 'base64')],
      scripts: new Map([
        ['6a', null],
        [SCRIPT, ADDRESS],
      ]),
      txids: new Set([TXID]),
      minValue: 12345678901234567n,
      reorgs: true,
      confirmations: [0, 2, 6],
    })
    expect(parse(VALID)[0]).toMatchObject({ confirmations: [1], reorgs: false, minValue: undefined })
    expect(parse()).toEqual([])
  })

  it.each<[object, RegExp]>([
    [{ id: 'a b' }, /^line 3: id must be up to 64 letters/],
    [{ url: 'ftp://x.example' }, /^line 4: url must be an https or http URL/],
    [{ url: 'https://user:pass@x.example' }, /^line 4: url must be an https or http URL without credentials/],
    [{ url: 'https://' }, /^line 4: url must be/],
    [{ secrets: [] }, /^line 5: secrets must be one to four/],
    [
      { secrets: [SECRET, 'whsec_c2hvcnQ='] },
      /^line 7: secrets\.1 must be whsec_ and base64 of 24 to 64 bytes/,
    ],
    [{ secrets: [SECRET.slice(6)] }, /^line 6: secrets\.0 must be whsec_/],
    [{ addresses: [ADDRESS, 'nonsense'] }, /^line 10: nonsense is not an address of bitcoin-main/],
    [{ addresses: [], scripts: ['6'] }, /^line 10: scripts\.0 must be a script in lower-case hexadecimal/],
    [{ transactions: [TXID.toUpperCase()] }, /transactions\.0 must be a txid/],
    [{ min_value: 5 }, /min_value must be an amount in base units, as a string/],
    [{ confirmations: [1, 145] }, /confirmations\.1 must be an integer from 0 to 144/],
    [{ confirmations: [1, 1] }, /confirmations must be a list of different integers/],
    [{ confirmation: [1] }, /confirmation is not a field of a webhook/],
    [{ secrets: undefined }, /^line 2: secrets is missing/],
    [{ addresses: undefined }, /^line 2: webhook shop watches nothing/],
  ])('refuses %j with its line', (fields, message) => {
    expect(() => parse({ ...VALID, ...fields })).toThrow(message)
  })

  it('refuses two webhooks of one id, and never repeats a secret', () => {
    expect(() => parse(VALID, VALID)).toThrow('line 12: webhook shop is defined twice')
    const secret = 'whsec_bm90IGEga2V5'
    expect(() => parse({ ...VALID, secrets: [secret] })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(secret) as string }),
    )
  })

  it('refuses a file that is only partly written', () => {
    const text = JSON.stringify([VALID, { ...VALID, id: 'other' }])
    for (let length = 0; length < text.length; length++)
      expect(() => parseHooks(text.slice(0, length), BITCOIN_MAIN)).toThrow(/^line 1: /)
    expect(parseHooks(text, BITCOIN_MAIN).length).toBe(2)
  })
})
