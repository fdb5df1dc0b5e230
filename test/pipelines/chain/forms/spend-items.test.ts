import { describe, expect, it } from 'vitest'
import { asmOf } from '../../../../pipelines/chain/forms/asm.js'
import { type SpendItems, spendItems } from '../../../../pipelines/chain/forms/spend-items.js'
import { hash160, sha256 } from '../../../../pipelines/chain/hash.js'
import { BITCOIN_MAIN, BITCOIN_REGTEST, type Network, REGTEST } from '../../../../pipelines/chain/networks.js'
import { readFrames } from '../../../harness/recording.js'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** The fields of the node's JSON with its own texts. */
interface DescribedTx {
  readonly vin: readonly {
    readonly scriptSig?: { readonly hex: string; readonly asm: string }
    readonly txinwitness?: readonly string[]
    readonly prevout?: { readonly scriptPubKey: { readonly hex: string } }
  }[]
  readonly vout: readonly { readonly scriptPubKey: { readonly hex: string; readonly asm: string } }[]
}

const transactionsOf = (recording?: string): DescribedTx[] =>
  readFrames(recording).flatMap(({ connected }) =>
    connected.flatMap(({ block }) => block.tx as unknown as DescribedTx[]),
  )

/** Returns the number of a script in decimal, as the node prints pushes of up to four bytes. */
function scriptNumber(hex: string): string {
  const data = bytes(hex)
  if (data.length === 0) return '0'
  const negative = (data[data.length - 1]! & 0x80) !== 0
  data[data.length - 1]! &= 0x7f
  const magnitude = data.readUIntLE(0, data.length)
  return String(negative && magnitude !== 0 ? -magnitude : magnitude)
}

/** The names that the node spells otherwise than Esplora does. */
const SPELLINGS: Readonly<Record<string, string>> = {
  OP_CLTV: 'OP_CHECKLOCKTIMEVERIFY',
  OP_CSV: 'OP_CHECKSEQUENCEVERIFY',
  OP_PUSHNUM_NEG1: '-1',
}

/** Returns text in the form of Esplora in that of the node: numbers in decimal, pushes without their opcode. */
function nodeAsm(asm: string, endOf: (hex: string) => string = () => ''): string {
  if (/<.*>$/.test(asm))
    return asm.replace(/^(.*?)\s*(?:OP_PUSH(?:BYTES_|DATA)\d+ )?<.*>$/, (_, begun: string) =>
      `${nodeAsm(begun, endOf)} [error]`.trim(),
    )
  const words: string[] = []
  const given = asm.split(' ').filter((word) => word !== '')
  for (let at = 0; at < given.length; at++) {
    const word = given[at]!
    if (/^OP_PUSH(BYTES_|DATA)\d+$/.test(word)) {
      const isData = at + 1 < given.length && !given[at + 1]!.startsWith('OP_')
      const hex = isData ? given[++at]! : ''
      words.push(hex.length <= 8 ? scriptNumber(hex) : hex + endOf(hex))
    } else if (word === 'OP_0') words.push('0')
    else if (/^OP_PUSHNUM_\d+$/.test(word)) words.push(word.slice(11))
    else words.push(SPELLINGS[word] ?? (/^OP_RETURN_\d+$/.test(word) ? 'OP_UNKNOWN' : word))
  }
  return words.join(' ')
}

/** Returns the text of a script of an input, in which the node writes the last byte of ECDSA signatures as a word. */
function inputAsm(script: Buffer, { scriptSig }: SpendItems, network: Network): string {
  const signatures = scriptSig.filter(({ kind }) => kind === 'ecdsa_signature')
  const ends = new Map(signatures.map(({ data, sighash = '' }) => [data.toString('hex'), `[${sighash}]`]))
  const text = nodeAsm(asmOf(script, network), (hex) => ends.get(hex) ?? '')
  // The byte that the word stands for.
  return text.replace(/[0-9a-f]{2}(?=\[)/g, '')
}

describe.each([
  {
    recording: 'bitcoin-regtest',
    network: BITCOIN_REGTEST,
    least: 2_000,
    kindsWithWitness: ['ecdsa_signature', 'public_key', 'schnorr_signature', 'witness_script', 'leaf_script'],
  },
  // Of years without witnesses.
  { recording: 'bitcoin-main', network: BITCOIN_MAIN, least: 1_000, kindsWithWitness: [] },
  {
    recording: undefined,
    network: REGTEST,
    least: 2_500,
    kindsWithWitness: ['dilithium_signature', 'dilithium_key', 'control_block', 'leaf_script'],
  },
])('the scripts of all transactions of a recording', ({ recording, network, least, kindsWithWitness }) => {
  const txs = transactionsOf(recording)

  it('are written as the node writes them, but for the spelling, with the sighash of signatures', () => {
    expect(txs.length).toBeGreaterThan(least)
    let signatures = 0
    for (const { vin, vout } of txs) {
      for (const { scriptPubKey } of vout)
        expect(nodeAsm(asmOf(bytes(scriptPubKey.hex), network))).toBe(scriptPubKey.asm)
      for (const { scriptSig, txinwitness = [], prevout } of vin) {
        if (scriptSig === undefined || prevout === undefined) continue
        const script = bytes(scriptSig.hex)
        const input = { scriptSig: script, witness: txinwitness.map(bytes) }
        const items = spendItems(input, bytes(prevout.scriptPubKey.hex), network)
        if (scriptSig.asm.includes('[ALL]')) signatures++
        expect(inputAsm(script, items, network)).toBe(scriptSig.asm)
      }
    }
    expect(signatures).toBeGreaterThan(50)
  })

  it('are satisfied by items of which scripts have the hash that the output has', () => {
    const kinds = new Map<string, number>()
    for (const { vin } of txs) {
      for (const { scriptSig, txinwitness = [], prevout } of vin) {
        if (scriptSig === undefined || prevout === undefined) continue
        const spent = bytes(prevout.scriptPubKey.hex)
        const input = { scriptSig: bytes(scriptSig.hex), witness: txinwitness.map(bytes) }
        const items = spendItems(input, spent, network)
        expect(items.witness.map(({ data }) => data.toString('hex'))).toEqual(txinwitness)
        const redeem = items.scriptSig.find(({ kind }) => kind === 'redeem_script')?.data
        if (redeem !== undefined) expect(hash160(redeem)).toEqual(spent.subarray(2, 22))
        for (const { kind, data } of items.witness) {
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
          if (kind === 'witness_script') expect(sha256(data)).toEqual((redeem ?? spent).subarray(2))
          if (kind === 'public_key' && txinwitness.length === 2 && spent.length === 22)
            expect(hash160(data)).toEqual(spent.subarray(2))
        }
      }
    }
    for (const kind of kindsWithWitness) expect(kinds.get(kind), kind).toBeGreaterThan(0)
  })
})

describe('spendItems', () => {
  const P2TR = bytes(`5120${'44'.repeat(32)}`)
  const P2MR = bytes(`5220${'55'.repeat(32)}`)
  const P2SH = bytes(`a914${'11'.repeat(20)}87`)
  const NONE = Buffer.alloc(0)
  const LEAF = bytes('51ac')
  const kindsOf = (spent: Buffer, witness: readonly Buffer[], network: Network = REGTEST) =>
    spendItems({ scriptSig: NONE, witness }, spent, network).witness.map(({ data: _, ...own }) => own)

  it('names a spend of P2TR by key, with each sighash', () => {
    const key = (last: number[]) => kindsOf(P2TR, [Buffer.from([...new Uint8Array(64).fill(7), ...last])])
    expect(key([])).toEqual([{ kind: 'schnorr_signature', sighash: 'DEFAULT' }])
    expect(key([0x01])).toEqual([{ kind: 'schnorr_signature', sighash: 'ALL' }])
    expect(key([0x83])).toEqual([{ kind: 'schnorr_signature', sighash: 'SINGLE|ANYONECANPAY' }])
    expect(key([0x00])).toEqual([{ kind: 'data' }])
  })

  it('names the leaf, the control block with its depth, and the annex of P2TR', () => {
    const control = Buffer.alloc(33 + 32 * 3, 0xc0)
    expect(kindsOf(P2TR, [NONE, LEAF, control, bytes('50aa')])).toEqual([
      { kind: 'empty' },
      { kind: 'leaf_script' },
      { kind: 'control_block', depth: 3 },
      { kind: 'annex' },
    ])
    expect(kindsOf(P2TR, [LEAF, Buffer.alloc(34)])[1]).toEqual({ kind: 'control_block' })
  })

  it('names the parts of P2MR, whose control block has no key, and Dilithium keys and signatures', () => {
    const signature = Buffer.alloc(2421, 1)
    expect(kindsOf(P2MR, [signature, LEAF, Buffer.alloc(65, 0xc1)])).toEqual([
      { kind: 'dilithium_signature', sighash: 'ALL' },
      { kind: 'leaf_script' },
      { kind: 'control_block', depth: 2 },
    ])
    const keyhash = bytes(`0014${'33'.repeat(20)}`)
    expect(kindsOf(keyhash, [Buffer.alloc(2420, 1), Buffer.alloc(1312)])).toEqual([
      { kind: 'dilithium_signature' },
      { kind: 'dilithium_key' },
    ])
    expect(kindsOf(keyhash, [signature, Buffer.alloc(1312)], BITCOIN_MAIN)).toEqual([
      { kind: 'data' },
      { kind: 'data' },
    ])
  })

  it('names no item of a script of an input that does more than push', () => {
    const { scriptSig } = spendItems({ scriptSig: bytes('5187'), witness: [] }, P2SH, REGTEST)
    expect(scriptSig).toEqual([])
  })

  it.each([
    ['an integer with a needless zero', '300702020001020101', '01'],
    ['a negative integer', '3006020181020101', '01'],
    ['a sighash that does not exist', '3006020101020101', '04'],
    ['a length that is not its own', '3007020101020101', '01'],
  ])('takes %s for no signature', (_, der, sighash) => {
    const spent = bytes(`76a914${'11'.repeat(20)}88ac`)
    const data = bytes(der + sighash)
    const script = Buffer.concat([Buffer.from([data.length]), data])
    expect(spendItems({ scriptSig: script, witness: [] }, spent, REGTEST).scriptSig[0]?.kind).toBe('data')
  })

  it('takes the smallest signature in DER for one', () => {
    const spent = bytes(`76a914${'11'.repeat(20)}88ac`)
    const [item] = spendItems(
      { scriptSig: bytes('09300602010102010181'), witness: [] },
      spent,
      REGTEST,
    ).scriptSig
    expect(item).toMatchObject({ kind: 'ecdsa_signature', sighash: 'ALL|ANYONECANPAY' })
  })
})
