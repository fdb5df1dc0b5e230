import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Loaded, loadChain } from '../baseline/load.js'
import { PlainNode } from '../baseline/node.js'
import { RowBytes } from '../baseline/row-bytes.js'
import { compactSize, splitWitness } from '../baseline/serialized.js'
import { FrozenTables } from '../baseline/tables.js'
import { ByteWriter } from '../../pipelines/chain/bytes.js'
import { parseTx, serializeTx } from '../../pipelines/chain/transaction.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { useEngine } from '../../test/harness/engine.js'

const FOLDER = resolve(import.meta.dirname, '../baseline')

describe('the frozen baseline', () => {
  it('does not use the product, so that it does not change with it', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.ts'))
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) {
      const text = readFileSync(join(FOLDER, file), 'utf8')
      const imports = [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, name = '']) => name)
      expect(imports.filter((name) => !/^(node:|\.\/)/.test(name))).toEqual([])
    }
  })

  it('encodes rows as RowBinary', () => {
    const rows = new RowBytes()
    rows.u8(1).u32(2, 0xffff_ffff).u64(3n).hash('ab'.repeat(32)).string(Buffer.from('xy'))
    expect(rows.take().toString('hex')).toBe(`0102000000ffffffff0300000000000000${'ab'.repeat(32)}027879`)
    const long = Buffer.alloc(100_000, 7)
    rows.string(long)
    expect(rows.take()).toEqual(Buffer.concat([Buffer.from('a08d06', 'hex'), long]))
    expect(rows.take()).toHaveLength(0)
  })

  it('encodes lengths as the chain does', () => {
    for (const length of [0, 0xfc, 0xfd, 0xffff, 0x1_0000])
      expect(compactSize(length)).toEqual(new ByteWriter(9).compactSize(length).finish())
  })
})

describe('the frozen tables of a chain', () => {
  const BLOCKS = 40
  const database = `frozen_${randomBytes(6).toString('hex')}`
  let node: Simnode
  let tables: FrozenTables
  let plain: PlainNode
  let loaded: Loaded
  beforeAll(async () => {
    node = await startSimnode({ seed: 'frozen', blocks: BLOCKS, txsPerBlock: 8 })
    plain = new PlainNode(node.url, 2)
    tables = new FrozenTables(useEngine(), database)
    await tables.create()
    loaded = await loadChain(node.url, BLOCKS, tables)
  })
  afterAll(async () => {
    tables.close()
    plain.close()
    await node.close()
    const db = new Database({ url: useEngine(), database: 'default' })
    await db.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
    await db.close()
  })

  it('contain each transaction, as serialised by the node, and what spends it', async () => {
    const blocks = await Promise.all(Array.from({ length: BLOCKS + 1 }, (_, height) => plain.block(height)))
    const txs = blocks.flatMap(({ tx }) => tx)
    expect(loaded.txids).toEqual(txs.map(({ txid }) => txid))
    const spenders = new Map(txs.map(({ txid }) => [txid, [] as string[]]))
    for (const { txid, vin } of txs)
      for (const input of vin) if (input.txid !== undefined) spenders.get(input.txid)?.push(txid)
    let witnesses = 0
    for (const { txid, hash, hex, size } of txs) {
      const tx = await tables.tx(txid)
      const raw = Buffer.from(hex, 'hex')
      const { body, witness } = splitWitness(raw)
      expect(tx.location).toMatchObject({ witness_id: hash, size })
      expect(tx.body['hex']).toBe(body.toString('hex'))
      expect(body).toEqual(serializeTx(parseTx(raw), false))
      expect(tx.witness?.['hex'] ?? '').toBe(witness.toString('hex'))
      if (witness.length > 0) witnesses++
      expect(tx.spends.map(({ spender }) => spender).sort()).toEqual(spenders.get(txid)?.sort())
    }
    expect(witnesses).toBeGreaterThan(10)
  })

  it('contain the balance of each address', async () => {
    const response = await fetch(`http://127.0.0.1:${String(node.port)}/control/state?balances=1`)
    const { balances } = (await response.json()) as { balances: Record<string, string> }
    const hashes = new Map(
      Object.entries(balances).map(([script, balance]) => [
        createHash('sha256').update(Buffer.from(script, 'hex')).digest('hex'),
        balance,
      ]),
    )
    expect(loaded.addresses.length).toBeGreaterThan(20)
    for (const { scriptHash } of loaded.addresses) {
      const row = await tables.script(scriptHash)
      const balance = BigInt(row['total_received'] ?? 0) - BigInt(row['total_sent'] ?? 0)
      expect(balance.toString()).toBe(hashes.get(scriptHash) ?? '0')
    }
  })

  it('are read by key, not as a whole', async () => {
    const [txid = ''] = loaded.txids.slice(-1)
    const plans = await tables.query(`EXPLAIN actions = 1 SELECT body FROM tx_bodies
      WHERE txid = toFixedString(unhex('${txid}'), 32)`)
    expect(plans.map((line) => String(line['explain'])).join('\n')).toMatch(/ReadType: GetKeys/)
  })

  it('refuse unknown keys', async () => {
    await expect(tables.tx('00'.repeat(32))).rejects.toThrow('do not contain')
    await expect(tables.script('00'.repeat(32))).rejects.toThrow('do not contain')
  })

  it('come from blocks that fetching and parsing alone reads too', async () => {
    expect(await plain.fetchAndParse(BLOCKS)).toBeGreaterThan(0)
    await expect(plain.fetchAndParse(BLOCKS + 1)).rejects.toThrow()
  })
})
