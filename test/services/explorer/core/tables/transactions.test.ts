import { describe, expect, it } from 'vitest'
import { blockTag } from '../../../../../pipelines/chain/block.js'
import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import {
  readTx,
  type SerializedTx,
  serializeTx,
  witnessTag,
} from '../../../../../pipelines/chain/transaction.js'
import {
  type Columns,
  EncodedRows,
  type Row,
  type Table,
  table,
} from '../../../../../pipelines/tables/rowbinary.js'
import { BLOCK_TXS, REPLACED_WITNESSES, TX_LOCATIONS, TXS } from '../../../../../pipelines/tables/schema.js'
import { CanonicalBlocks } from '../../../../../services/explorer/core/tables/canonical-blocks.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import {
  eachBody,
  NO_WITNESS,
  confirmationsByTxid,
  storedOf,
  transactionAt,
  transactionByTxid,
  transactionsOf,
  withTxids,
} from '../../../../../services/explorer/core/tables/transactions.js'

const { height, block_tag, tx_index, txid } = BLOCK_TXS.columns
/** The columns of `block_txs` that a txid is looked up by, and the txid. */
const PLACES = table(BLOCK_TXS.name, { height, block_tag, tx_index, txid })
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
  /** The bytes that were read. */
  bytes = 0
  /** Called before each read with its number. */
  onRead: (count: number) => void = () => undefined
  readonly tables = new Tables({
    connected: true,
    isCrowded: false,
    query: () => Promise.reject(new Error('only bytes are read')),
    bytes: (sql) => {
      this.onRead(this.read.length + 1)
      const answer = this.#answer(sql)
      this.bytes += answer.length
      return Promise.resolve(answer)
    },
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
    if (name === TXS.name)
      return selectedOf(
        sql,
        [...this.#txs.values()].filter(({ txid }) => keys.has(txid)),
      )
    if (name === TX_LOCATIONS.name)
      return bytesOf(TX_LOCATIONS, this.#locations, (row) => keys.has(row.txid_prefix))
    if (name === REPLACED_WITNESSES.name)
      return bytesOf(REPLACED_WITNESSES, this.#witnesses, (row) => keys.has(row.txid))
    return bytesOf(
      sql.includes('witness_tag') ? BLOCK_TXS : PLACES,
      this.#blockTxs,
      ({ height, block_tag: tag, tx_index: index }) =>
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

/** Returns the columns of transactions that a query selects. */
function selectedOf(sql: string, rows: readonly Row<typeof TXS.columns>[]): Buffer {
  let [, selected = ''] = /^SELECT (.*?) FROM/.exec(sql) ?? []
  // Without the arguments of functions.
  while (selected.includes('(')) selected = selected.replaceAll(/\([^()]*\)/g, '')
  const names = Array.from(selected.matchAll(/(\w+)(?:, |$)/g), ([, name = '']) => name)
  const part = (bytes: Uint8Array, size = bytes.length) => (size <= SMALL ? bytes : Buffer.alloc(0))
  const columns = {
    ...TXS.columns,
    body_size: 'u32',
    witness_size: 'u32',
    is_bare: 'bool',
    ...PARTS,
  } as const
  const values = rows.map((row) => ({
    ...row,
    body_size: row.body.length,
    witness_size: row.witness.length,
    small_body: part(row.body),
    small_prevouts: row.prevouts,
    small_witness: part(row.witness),
    is_bare: row.body.length === 0,
  }))
  const chosen = Object.fromEntries(names.map((name) => [name, columns[name as keyof typeof columns]]))
  return Buffer.from(new EncodedRows(table('txs', chosen), values as never).bytes)
}

const SMALL = 16 * 1024
const PARTS = { small_body: 'bytes', small_prevouts: 'bytes', small_witness: 'bytes' } as const

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

describe('a large transaction', () => {
  const chain = chainOf(['00'.repeat(32), OURS])
  const large = txWith('w'.repeat(40_000))

  it('has its witness, which is read alone', async () => {
    const written = new Written()
    written.write(OURS, [large])
    const found = await transactionByTxid(written.tables, await chain, large.txid)
    expect(found).toMatchObject({
      body: large.body,
      witness: large.witness,
      witnessSize: large.witness.length,
    })
    expect(written.read).toEqual(['txs', 'txs'])
  })

  it('is read without its witness if that is not needed, and only with its block if only that is', async () => {
    const written = new Written()
    written.write(OURS, [large])
    const found = await transactionByTxid(written.tables, await chain, large.txid, NO_WITNESS)
    expect(found).toMatchObject({ body: large.body, witness: undefined, witnessSize: large.witness.length })
    const confirmed = await confirmationsByTxid(written.tables, await chain, [large.txid])
    expect(confirmed.get(large.txid)).toEqual({
      txid: large.txid,
      height: HEIGHT,
      blockTag: blockTag(OURS),
      txIndex: 0,
      isDilithium: false,
    })
    expect(written.read).toEqual(['txs', 'txs'])
    expect(written.bytes).toBeLessThan(500)
  })

  it('has its body read alone', async () => {
    const paid = { value: 5n, script: Buffer.alloc(20_000) }
    const input = {
      prevTxid: 'ee'.repeat(32),
      prevVout: 0,
      scriptSig: Buffer.alloc(0),
      sequence: 0,
      witness: [],
    }
    const parts = { version: 2, locktime: 0, inputs: [input], outputs: [paid] }
    const tx = readTx(new ByteReader(serializeTx(parts, false)))
    const written = new Written()
    written.write(OURS, [tx, txWith('small')])
    const bodies: Buffer[] = []
    await eachBody(written.tables, [tx.txid, txWith('small').txid, 'ab'.repeat(32)], ({ body }) => {
      bodies.push(body)
    })
    expect(bodies).toEqual([tx.body, txWith('small').body])
  })

  it('has the witness of its own block if its row is replaced between two lookups', async () => {
    const written = new Written()
    const other = txWith('v'.repeat(40_000))
    written.write(OURS, [large])
    written.onRead = (count) => {
      if (count !== 2) return
      written.replace(OURS, large)
      written.replace(OTHER, other)
      written.write(OTHER, [other])
    }
    const found = await transactionByTxid(written.tables, await chain, large.txid)
    expect(found?.witness).toEqual(large.witness)
    expect(written.read).toEqual(['txs', 'txs', 'replaced_witnesses'])
  })
})

describe('a transaction by its txid', () => {
  const tx = txWith('one')
  const chain = chainOf(['00'.repeat(32), OURS])

  it('takes one lookup if its block on the chain was written last, and no fence', async () => {
    const written = new Written()
    written.write(OTHER, [tx])
    written.write(OURS, [tx])
    const found = await transactionByTxid(written.tables, await chain, tx.txid)
    expect(found).toMatchObject({ blockTag: blockTag(OURS), body: tx.body, witness: tx.witness })
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
      const found = await transactionByTxid(written.tables, await chain, same.txid)
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
      const found = await transactionByTxid(written.tables, await chain, txid)
      expect(found?.witness).toEqual(witness)
    }
  })

  it('is not found if no block contains it, but not if its row is lost', async () => {
    const written = new Written()
    expect(await transactionByTxid(written.tables, await chain, tx.txid)).toBeUndefined()
    written.write(OURS, [tx])
    written.lose(tx.txid)
    await expect(transactionByTxid(written.tables, await chain, tx.txid)).rejects.toThrow(/lacks transaction/)
  })

  it('is not found if only blocks of other branches contain it', async () => {
    const written = new Written()
    written.write(OTHER, [tx])
    written.collide(OURS, tx.txid, 0)
    expect(await transactionByTxid(written.tables, await chain, tx.txid)).toBeUndefined()
  })

  it('fails if its witness is missing, after which the reader checks the fence', async () => {
    const written = new Written()
    written.write(OURS, [txWith('one')])
    written.write(OTHER, [txWith('two')])
    await expect(transactionByTxid(written.tables, await chain, tx.txid)).rejects.toThrow(/no node/)
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

describe('a transaction of which only the place is known', () => {
  it('is as of its block, although the block of another branch that contains it was written later', async () => {
    const written = new Written()
    const [ours, other] = [txWith('ours'), txWith('other')]
    written.write(OURS, [ours])
    written.write(OTHER, [other])
    written.replace(OURS, ours)
    const at = { txid: ours.txid, height: HEIGHT, blockTag: blockTag(OURS), txIndex: 0 }
    const stored = await storedOf(written.tables, [at], true)
    expect(await transactionAt(written.tables, at, stored)).toMatchObject({
      blockTag: at.blockTag,
      isDilithium: false,
      witness: ours.witness,
    })
    await expect(transactionAt(written.tables, { ...at, txIndex: 1 }, stored)).rejects.toThrow(
      /block_txs lacks transaction/,
    )
    // The block that was written last needs no lookup of its own.
    const last = { ...at, blockTag: blockTag(OTHER) }
    const { length } = written.read
    expect(await transactionAt(written.tables, last, stored)).toMatchObject({ witness: other.witness })
    expect(written.read.slice(length)).toEqual([])
  })
})

describe('rows that name transactions by their places in blocks', () => {
  const place = (txIndex: number, block = OURS) => ({ height: HEIGHT, blockTag: blockTag(block), txIndex })
  const [first, second] = [txWith('one'), txWith('one', 1)]

  it('have their txids after one lookup, in which rows that have them take no part', async () => {
    const written = new Written()
    written.write(OURS, [first, second])
    written.write(OTHER, [second])
    const known = { ...place(7), txid: 'ab'.repeat(32) }
    const rows = await withTxids(written.tables, [place(1), known, place(0), place(0, OTHER), place(1)])
    expect(rows.map(({ txid }) => txid)).toEqual([
      second.txid,
      known.txid,
      first.txid,
      second.txid,
      second.txid,
    ])
    expect(written.read).toEqual(['block_txs'])
    expect(await withTxids(written.tables, [known, known])).toEqual([known, known])
    expect(written.read).toEqual(['block_txs'])
  })

  it('fail if a block lacks the transaction', async () => {
    const written = new Written()
    written.write(OURS, [first])
    await expect(withTxids(written.tables, [place(0), place(1)])).rejects.toThrow(
      /block_txs lacks transaction 1 of block 1/,
    )
  })
})
