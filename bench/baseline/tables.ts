import { readFile } from 'node:fs/promises'
import { Http } from './http.js'

/** A row as the server returns it. */
type Row = Readonly<Record<string, string | number>>

/** The answer about a transaction, of one query for each table. */
export interface FrozenTx {
  readonly location: Row
  readonly body: Row
  readonly spends: readonly Row[]
  /** Undefined for a transaction without witnesses. */
  readonly witness: Row | undefined
}

/** The frozen tables in a database, read as one would first write it: one query for each table, one after the other. */
export class FrozenTables {
  readonly #http: Http

  constructor(
    url: string,
    private readonly database: string,
  ) {
    this.#http = new Http(url, 1)
  }

  /** Creates the database with empty tables. */
  async create(): Promise<void> {
    await this.#http.post('/', `CREATE DATABASE ${this.database}`)
    const sql = await readFile('bench/baseline/tables.sql', 'utf8')
    for (const statement of sql.replace(/^--.*$/gm, '').split(';'))
      if (statement.trim() !== '') await this.#http.post(this.#path(), statement)
  }

  async insert(table: string, rows: Buffer): Promise<void> {
    if (rows.length === 0) return
    const query = encodeURIComponent(`INSERT INTO ${table} FORMAT RowBinary`)
    await this.#http.post(`${this.#path()}&async_insert=0&query=${query}`, rows)
  }

  async query(sql: string): Promise<Row[]> {
    const text = await this.#http.post(this.#path(), `${sql} FORMAT JSONEachRow`)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row)
  }

  /** @throws Error if the transaction is missing. */
  async tx(txid: string): Promise<FrozenTx> {
    const [location] = await this.query(
      `SELECT height, lower(hex(block_hash)) AS block, tx_index, lower(hex(wtxid)) AS witness_id, time, size, weight,
         is_dilithium FROM tx_places WHERE txid = ${literal(txid)}`,
    )
    const body = await this.body(txid)
    const spends = await this.query(
      `SELECT prev_vout, height, lower(hex(block_hash)) AS block, lower(hex(txid)) AS spender, vin
       FROM spends WHERE prev_txid = ${literal(txid)}`,
    )
    if (location === undefined) throw new Error(`the frozen tables do not contain transaction ${txid}`)
    const [witness] = await this.query(
      `SELECT lower(hex(witness)) AS hex FROM tx_witnesses WHERE wtxid = ${literal(String(location['witness_id']))}`,
    )
    return { location, body, spends, witness }
  }

  /** Returns the row of a transaction in a table of RocksDB: the least that an answer about it can take. @throws Error */
  async body(txid: string): Promise<Row> {
    const [row] = await this.query(
      `SELECT lower(hex(body)) AS hex, lower(hex(prevouts)) AS spent FROM tx_bodies WHERE txid = ${literal(txid)}`,
    )
    if (row === undefined) throw new Error(`the frozen tables do not contain transaction ${txid}`)
    return row
  }

  /** Returns the last row of a script, with its totals. @throws Error if the script is missing. */
  async script(scriptHash: string): Promise<Row> {
    const [row] = await this.query(
      `SELECT ordinal, height, lower(hex(block_hash)) AS block, time, total_received, total_sent, unspent_count,
         first_height, first_time, shows_dilithium
       FROM script_txs WHERE script_hash = ${literal(scriptHash)} ORDER BY ordinal DESC LIMIT 1`,
    )
    if (row === undefined) throw new Error(`the frozen tables do not contain script ${scriptHash}`)
    return row
  }

  close(): void {
    this.#http.close()
  }

  #path(): string {
    return `/?database=${this.database}`
  }
}

const literal = (hash: string): string => `toFixedString(unhex('${hash}'), 32)`
