import { Definitions } from '../core/definitions/definitions.js'
import { State } from '../core/state/state.js'
import { AvailableDatabase } from '../core/tables/availability.js'
import { type HistoryTables, historyTablesOf } from '../core/mempool/history-tables.js'
import { ServingTables } from '../core/tables/serving-tables.js'
import { TxStoreReader } from '../../../pipelines/txstore/reader.js'
import { NearRows } from '../core/tables/near-rows.js'
import { NodeBodies } from '../core/node/node-bodies.js'
import { NodeConnection } from '../core/node/node-connection.js'
import { type Beside, Tables } from '../core/tables/tables.js'
import type { ExplorerOptions } from './options.js'

/** The data of an explorer: the tables, the state that followers load from them, and the operator's definitions. */
export interface Data {
  readonly database: AvailableDatabase
  readonly tables: ServingTables
  /** The rows of the transaction store; undefined without one. */
  readonly near: NearRows | undefined
  /** The sources of rows besides the database, also of a database that replaces it. */
  readonly beside: Beside
  /** The connection with the node that bodies are read by. */
  readonly connection: NodeConnection
  readonly history: HistoryTables
  readonly state: State
  readonly definitions: Definitions
}

/** Builds the data of an explorer, all of it empty. */
export function dataOf(options: ExplorerOptions): Data {
  const { db, logger, definitions = {}, txStore, hasBodies = true } = options
  const { locateNode: locate = () => Promise.resolve(undefined) } = options
  const database = new AvailableDatabase(db, logger, options.answerDeadlineMs)
  const state = new State()
  const near = txStore && new NearRows(new TxStoreReader(txStore.path), () => state.chain.blocks, logger)
  const connection = new NodeConnection({ locate, logger })
  const beside = { near, node: new NodeBodies(connection), hasBodies }
  return {
    database,
    tables: new ServingTables(new Tables(database, undefined, undefined, beside)),
    near,
    beside,
    connection,
    history: historyTablesOf(db, database),
    state,
    definitions: new Definitions(definitions, logger),
  }
}
