import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Network, REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { serializeTx } from '../../../../../../pipelines/chain/transaction.js'
import { MempoolTxs } from '../../../../../../services/explorer/core/mempool/mempool-txs.js'
import { type ShownTx, shownTx } from '../../../../../../services/explorer/core/mempool/shown-tx.js'
import { AnswerSize, MakingMemory } from '../../../../../../services/explorer/core/reads/answer-size.js'
import { accelerationOf } from '../../../../../../services/explorer/core/reads/mempool/acceleration.js'
import { packageOf } from '../../../../../../services/explorer/core/reads/mempool/transaction-package.js'
import type { ReadContext } from '../../../../../../services/explorer/core/reads/read.js'
import { Validity } from '../../../../../../services/explorer/core/reads/validity.js'
import { Projections } from '../../../../../../services/explorer/core/state/projections.js'
import { NO_CHAIN, type RelayFees } from '../../../../../../services/explorer/core/state/state.js'
import { Cancellation } from '../../../../../../services/explorer/core/tables/cancellation.js'

const SCRIPT = Buffer.from(`0014${'ab'.repeat(20)}`, 'hex')
/** Blocks of some transactions, after what is reserved for the coinbase. */
const network: Network = { ...REGTEST, maxBlockWeight: REGTEST.witnessScale * (1_000 + 3_000) }
let made = 0

/** Returns a transaction with an input, as large as its number of outputs makes it. @param rate per virtual byte. */
function txOf(outputs: number, rate: number, parent?: ShownTx): ShownTx {
  const prevTxid = parent?.txid ?? (++made).toString(16).padStart(64, '0')
  const raw = serializeTx(
    {
      version: 2,
      locktime: ++made,
      inputs: [
        {
          prevTxid,
          prevVout: parent === undefined ? 0 : made,
          scriptSig: Buffer.alloc(0),
          sequence: 0,
          witness: [],
        },
      ],
      outputs: Array.from({ length: outputs }, () => ({ value: 1_000n, script: SCRIPT })),
    },
    true,
  )
  const { vsize } = shownTx({ raw, fee: 0n, firstSeen: 0, network })
  return shownTx({ raw, fee: BigInt(Math.ceil(rate * vsize)), firstSeen: 0, network })
}

/** Returns the same transaction with another txid, which pays a fee. */
const paying = (outputs: number, parent: ShownTx | undefined, fee: bigint): ShownTx => ({
  ...txOf(outputs, 0, parent),
  fee,
})

function contextOf(txs: readonly ShownTx[], relayFees?: RelayFees): ReadContext {
  return {
    chain: { ...NO_CHAIN, network },
    validity: new Validity(),
    size: new AnswerSize(new MakingMemory(), new Cancellation()),
    mempool: MempoolTxs.of(txs),
    projections: new Projections(),
    relayFees,
  } as unknown as ReadContext
}

/** Returns the txids of the first projected block. */
async function nextBlock(txs: readonly ShownTx[]): Promise<ReadonlySet<string>> {
  const { blocks } = await new Projections().of(MempoolTxs.of(txs), undefined, network)
  return new Set(blocks[0]?.txs.map(({ txid }) => txid))
}

const wanted = fc.array(
  fc.record({
    outputs: fc.integer({ min: 1, max: 20 }),
    rate: fc.double({ min: 1, max: 60, noNaN: true }),
    parent: fc.option(fc.nat(), { nil: undefined, freq: 2 }),
  }),
  { minLength: 20, maxLength: 40 },
)

describe('what moves a transaction into the next block', () => {
  it('does so for a replacement and for a child, in any mempool', async () => {
    let checked = 0
    await fc.assert(
      fc.asyncProperty(wanted, fc.nat(), async (descriptions, chosen) => {
        const txs: ShownTx[] = []
        const parents = new Map<string, ShownTx | undefined>()
        for (const { outputs, rate, parent } of descriptions) {
          const of = parent === undefined ? undefined : txs[parent % Math.max(1, txs.length)]
          const tx = txOf(outputs, rate, of)
          parents.set(tx.txid, of)
          txs.push(tx)
        }
        const next = await nextBlock(txs)
        const waiting = txs.filter(({ txid }) => !next.has(txid))
        const tx = waiting[chosen % Math.max(1, waiting.length)]
        if (tx === undefined) return
        const outputs = descriptions[txs.indexOf(tx)]!.outputs
        const bare = paying(2, tx, 0n)
        const context = contextOf(txs)
        const related = await packageOf(context, tx.txid)
        const { replacement, child } = (await accelerationOf(related, context, bare.vsize))!
        const gone = new Set([tx.txid, ...related.descendants.map(({ txid }) => txid)])
        const replacing = paying(outputs, parents.get(tx.txid), replacement)
        expect(replacing.vsize).toBe(tx.vsize)
        const replaced = [...txs.filter(({ txid }) => !gone.has(txid)), replacing]
        expect((await nextBlock(replaced)).has(replacing.txid)).toBe(true)
        const spending = { ...bare, fee: child }
        const withChild = await nextBlock([...txs, spending])
        expect([tx, spending].every(({ txid }) => withChild.has(txid))).toBe(true)
        checked++
      }),
      { numRuns: 100, endOnFailure: true },
    )
    expect(checked).toBeGreaterThan(50)
  })

  /** Returns transactions of a rate that fill about two blocks. */
  const crowd = (rate: number): ShownTx[] => Array.from({ length: 60 }, () => txOf(2, rate))

  it('is a replacement that pays for all that it removes, and its own size at the incremental rate', async () => {
    const tx = txOf(2, 1)
    const child = txOf(2, 9, tx)
    const txs = [...crowd(10), tx, child]
    const context = contextOf(txs, { mempoolMin: 1_000n, incremental: 2_000n })
    const acceleration = await accelerationOf(await packageOf(context, tx.txid), context, 150)
    const rule = tx.fee + child.fee + 2n * BigInt(tx.vsize)
    const rate = 10n * BigInt(tx.vsize) + 1n
    expect(acceleration?.replacement).toBe(rule > rate ? rule : rate)
    expect(rule).toBeGreaterThan(rate)
  })

  it('is a child that makes up for what its parent pays less', async () => {
    const tx = txOf(2, 1)
    const context = contextOf([...crowd(10), tx])
    const { replacement, child } = (await accelerationOf(await packageOf(context, tx.txid), context, 150))!
    expect(replacement).toBe(10n * BigInt(tx.vsize) + 1n)
    expect(child).toBe(10n * BigInt(tx.vsize + 150) + 1n - tx.fee)
  })

  it('is nothing if the next block has it, or if all wait for one block', async () => {
    const high = txOf(2, 50)
    const context = contextOf([...crowd(10), high])
    expect(await accelerationOf(await packageOf(context, high.txid), context, 150)).toBeUndefined()
    const alone = contextOf([high])
    expect(await accelerationOf(await packageOf(alone, high.txid), alone, 150)).toBeUndefined()
  })
})
