import { describe, expect, it } from 'vitest'
import { blockTag } from '../../../../pipelines/chain/block.js'
import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import {
  readTx,
  type SerializedTx,
  serializeTx,
  witnessTag,
} from '../../../../pipelines/chain/transaction.js'
import {
  type Columns,
  EncodedRows,
  type Row,
  type Table,
  table,
} from '../../../../pipelines/tables/rowbinary.js'
import { BLOCK_TXS, REPLACED_WITNESSES, TX_LOCATIONS, TXS } from '../../../../pipelines/tables/schema.js'
import { CanonicalBlocks } from '../../../../services/explorer/state/canonical-blocks.js'
import { Tables } from '../../../../services/explorer/tables/tables.js'
import { transactionsByTxid, transactionsOf } from '../../../../services/explorer/tables/transactions.js'

const HEIGHT = 1
/** A block of the chain, and one of another branch at the same height. */
const [OURS, OTHER] = ['11'.repeat(32), '22'.repeat(32)]
const TIME = 1_700_000_000

/** Returns a transaction whose txid does not depend on the witness. */
function txWith(witness: string, locktime = 0): SerializedTx {
  const input = { prevTxid: 'ee'.repeat(32), prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0 }
  const items = witness === '' ? [] : [Buffer.from(witness)]
  const outputs = [{ value: 5n, script: Buffer.from([0x51]) }]
  const parts = { version: 2, locktime, inputs: [{ ...input, witness: items }], outputs }
  return readTx(new ByteReader(serializeTx(parts, true)))
}

/** Tables in memory, to which the transactions of blocks are written as the materializer writes them. */
class Written {
  readonly #txs = new Map<string, Row<typeof TXS.columns>>()
  readonly #locations: Row<typeof TX_LOCATIONS.columns>[] = []
  readonly #blockTxs: Row<typeof BLOCK_TXS.columns>[] = []
  readonly #witnesses: Row<typeof REPLACED_WITNESSES.columns>[] = []
  /** The tables that were read, in order. */
  readonly read: string[] = []
  readonly tables = new Tables({
    connected: true,
    isCrowded: false,
    query: () => Promise.reject(new Error('only bytes are read')),
    bytes: (sql) => Promise.resolve(this.#answer(sql)),
  })

  write(block: string, txs: readonly SerializedTx[]): void {
    const named = { height: HEIGHT, block_tag: blockTag(block) }
    for (const [index, tx] of txs.entries()) {
      const { txid, body, witness } = tx
      const located = { ...named, tx_index: index, txid, is_dilithium: block === OTHER }
      this.#txs.set(txid, { ...located, body, prevouts: Buffer.alloc(0), witness })
      this.#locations.push({ ...named, tx_index: index, txid_prefix: txid.slice(0, 16) })
      this.#blockTxs.push({ ...located, witness_tag: witnessTag(tx), moved: 0n })
    }
  }

  replace(block: string, { txid, witness }: SerializedTx): void {
    this.#witnesses.push({ txid, height: HEIGHT, block_tag: blockTag(block), witness })
  }

  /** Loses a row of the point table, as a power cut can. */
  lose(txid: string): void {
    this.#txs.delete(txid)
  }

  /** Adds a location of another transaction whose txid has the same prefix. */
  collide(block: string, txid: string, index: number): void {
    const named = { height: HEIGHT, block_tag: blockTag(block), tx_index: index }
    const other = txid.slice(0, 16) + 'f'.repeat(48)
    this.#locations.push({ ...named, txid_prefix: txid.slice(0, 16) })
    this.#blockTxs.push({ ...named, txid: other, witness_tag: 0, moved: 0n, is_dilithium: false })
  }

  #answer(sql: string): Buffer {
    const [, name = ''] = /FROM (\w+) WHERE/.exec(sql) ?? []
    const keys = new Set(Array.from(sql.matchAll(/x'([0-9a-f]+)'/g), ([, key]) => key))
    this.read.push(name)
    if (name === TXS.name) return bytesOf(TXS, [...this.#txs.values()], (row) => keys.has(row.txid))
    if (name === TX_LOCATIONS.name)
      return bytesOf(TX_LOCATIONS, this.#locations, (row) => keys.has(row.txid_prefix))
    if (name === REPLACED_WITNESSES.name)
      return bytesOf(REPLACED_WITNESSES, this.#witnesses, (row) => keys.has(row.txid))
    return bytesOf(BLOCK_TXS, this.#blockTxs, ({ height, block_tag: tag, tx_index: index }) =>
      sql.includes(`(${String(height)}, ${String(tag)}, ${String(index)})`),
    )
  }
}

function bytesOf<C extends Columns>(
  of: Table<C>,
  rows: readonly Row<C>[],
  isWanted: (row: Row<C>) => boolean,
): Buffer {
  return Buffer.from(new EncodedRows<C>(of, rows.filter(isWanted)).bytes)
}

async function chainOf(hashes: readonly string[]): Promise<CanonicalBlocks> {
  const rows = table('blocks', { height: 'u32', hash: 'hash', time: 'u32' })
  const encoded = new EncodedRows(
    rows,
    hashes.map((hash, height) => ({ height, hash, time: TIME + height })),
  )
  const pages = (async function* () {
    yield await Promise.resolve(Buffer.from(encoded.bytes))
  })()
  return CanonicalBlocks.NONE.extended(0, pages, hashes.length - 1)
}

describe('a transaction by its txid', () => {
  const tx = txWith('one')
  const chain = chainOf(['00'.repeat(32), OURS])

  it('takes one lookup if its block on the chain was written last, and no fence', async () => {
    const written = new Written()
    written.write(OTHER, [tx])
    written.write(OURS, [tx])
    const found = await transactionsByTxid(written.tables, await chain, [tx.txid])
    expect([...found.keys()]).toEqual([tx.txid])
    expect(found.get(tx.txid)).toMatchObject({ blockTag: blockTag(OURS), body: tx.body, witness: tx.witness })
    expect(written.read).toEqual(['txs'])
    expect(written.tables.hasRead).toBe(false)
  })

  it('is found if a block of another branch was written last, with the same witness or none', async () => {
    for (const witness of ['one', '']) {
      const same = txWith(witness)
      const written = new Written()
      written.write(OURS, [txWith('', 9), same])
      written.write(OTHER, [same])
      written.collide(OURS, same.txid, 7)
      const found = (await transactionsByTxid(written.tables, await chain, [same.txid])).get(same.txid)
      const location = { height: HEIGHT, blockTag: blockTag(OURS), txIndex: 1, isDilithium: false }
      expect(found).toMatchObject({ ...location, txid: same.txid, body: same.body, witness: same.witness })
      expect(written.read).not.toContain('replaced_witnesses')
    }
  })

  it('has the witness of its own block, if another one replaced it', async () => {
    for (const [ours, other] of [
      ['one', 'two'],
      ['', 'two'],
      ['one', ''],
    ] as const) {
      const written = new Written()
      written.write(OURS, [txWith(ours)])
      written.replace(OURS, txWith(ours))
      written.replace(OTHER, txWith(other))
      written.write(OTHER, [txWith(other)])
      const { txid, witness } = txWith(ours)
      const found = await transactionsByTxid(written.tables, await chain, [txid])
      expect(found.get(txid)?.witness).toEqual(witness)
    }
  })

  it('is not found if no block contains it, but not if its row is lost', async () => {
    const written = new Written()
    expect((await transactionsByTxid(written.tables, await chain, [tx.txid])).size).toBe(0)
    written.write(OURS, [tx])
    written.lose(tx.txid)
    await expect(transactionsByTxid(written.tables, await chain, [tx.txid])).rejects.toThrow(
      /lacks transaction/,
    )
  })

  it('is not found if only blocks of other branches contain it', async () => {
    const written = new Written()
    written.write(OTHER, [tx])
    written.collide(OURS, tx.txid, 0)
    expect((await transactionsByTxid(written.tables, await chain, [tx.txid])).size).toBe(0)
  })

  it('fails if its witness is missing, after which the reader checks the fence', async () => {
    const written = new Written()
    written.write(OURS, [txWith('one')])
    written.write(OTHER, [txWith('two')])
    await expect(transactionsByTxid(written.tables, await chain, [tx.txid])).rejects.toThrow(
      /lack the witness/,
    )
    expect(written.tables.hasRead).toBe(true)
  })

  it('of a block that a reorganisation replaced is as of that block', async () => {
    const written = new Written()
    written.write(OTHER, [txWith('two')])
    written.replace(OTHER, txWith('two'))
    written.write(OURS, [txWith('one')])
    const { txid, witness } = txWith('two')
    const at = { height: HEIGHT, blockTag: blockTag(OTHER), txIndex: 0, txid, isDilithium: true, moved: 0n }
    const [found] = await transactionsOf(written.tables, [{ ...at, witnessTag: witnessTag(txWith('two')) }])
    expect(found).toMatchObject({ blockTag: blockTag(OTHER), isDilithium: true, witness })
    await expect(
      transactionsOf(written.tables, [{ ...at, txid: 'ab'.repeat(32), witnessTag: 0 }]),
    ).rejects.toThrow(/lacks transaction/)
  })
})
