import { describe, expect, it } from 'vitest'
import { merkleBranch, merkleRoot } from '../../../../../pipelines/chain/block.js'
import { hexOf, sha256 } from '../../../../../pipelines/chain/hash.js'
import { CanonicalBlocks } from '../../../../../services/explorer/core/tables/canonical-blocks.js'
import { feeBins } from '../../../../../services/explorer/faces/electrum/reads/fees.js'
import { headerProof } from '../../../../../services/explorer/faces/electrum/reads/header-proofs.js'
import { negotiated } from '../../../../../services/explorer/faces/electrum/version.js'

const hashes = Array.from({ length: 6_200 }, (_, height) => hexOf(sha256(Buffer.from(String(height)))))

async function chainOf(length: number): Promise<CanonicalBlocks> {
  const page = Buffer.alloc(length * 40)
  for (let height = 0; height < length; height++) {
    page.writeUInt32LE(height, height * 40)
    page.write(hashes[height] ?? '', height * 40 + 4, 'hex')
  }
  const pages = (async function* () {
    await Promise.resolve()
    yield page
  })()
  return CanonicalBlocks.NONE.extended(0, pages, length - 1)
}

describe('the proof of a header', () => {
  it.each([1, 2, 3, 2_047, 2_048, 2_049, 4_096, 4_097, 6_145, 6_200])(
    'is that of all hashes of a chain of %i blocks',
    async (length) => {
      const blocks = await chainOf(6_200)
      const known = hashes.slice(0, length)
      for (const height of new Set([0, length >> 1, length - 1])) {
        const { root, branch } = await headerProof(blocks, height, length - 1)
        expect(root).toBe(merkleRoot(known))
        expect(branch).toEqual(merkleBranch(known, height))
      }
    },
  )
})

describe('the histogram of fees', () => {
  const tx = (rate: number, vsize: number) => ({ fee: BigInt(rate * vsize), vsize, packaged: undefined })

  it('has bins of 100,000 virtual bytes and more, highest rate first, without the last part', () => {
    const txs = Array.from({ length: 400 }, (_, index) => tx(400 - index, 1_000))
    const bins = feeBins(txs)
    expect(bins).toEqual([
      [300, 101_000],
      [189, 111_000],
      [67, 122_000],
    ])
    expect(feeBins(txs.slice(0, 50))).toEqual([])
  })

  it('has a bin for what comes before many transactions of one rate', () => {
    expect(feeBins([tx(9, 1_000), tx(5, 300_000)])).toEqual([
      [9, 1_000],
      [5, 300_000],
    ])
  })
})

describe('the version of the protocol', () => {
  it.each([
    [undefined, '1.4'],
    [null, '1.4'],
    ['1.4.2', '1.4.2'],
    [['1.4', '1.6'], '1.6'],
    [['1.4', '9.0'], '1.6.0'],
  ])('for %j is %s', (requested, version) => {
    expect(negotiated(requested).join('.')).toBe(version)
  })

  it.each(['1.3', '1.7', ['1.7', '1.8'], ['1.6', '1.4'], ['1.4'], 1.4, {}, 'x'])(
    'is refused for %j',
    (requested) => {
      expect(() => negotiated(requested)).toThrow(/^unsupported protocol version/)
    },
  )
})
