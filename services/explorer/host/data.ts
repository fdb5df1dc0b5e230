import { Definitions } from '../core/definitions/definitions.js'
import { State } from '../core/state/state.js'
import { AvailableDatabase } from '../core/tables/availability.js'
import { type HistoryTables, historyTablesOf } from '../core/mempool/history-tables.js'
import { ServingTables } from '../core/tables/serving-tables.js'
import { TxStoreReader } from '../../../pipelines/txstore/reader.js'
import { NearRows } from '../core/tables/near-rows.js'
import { Tables } from '../core/tables/tables.js'
import type { ExplorerOptions } from './options.js'

/** The data of an explorer: the tables, the state that followers load from them, and the operator's definitions. */
export interface Data {
  readonly database: AvailableDatabase
  readonly tables: ServingTables
  /** The rows of the transaction store; undefined without one. */
  readonly near: NearRows | undefined
  readonly history: HistoryTables
  readonly state: State
  readonly definitions: Definitions
}

/** Builds the data of an explorer, all of it empty. */
export function dataOf({ db, logger, definitions = {}, txStore }: ExplorerOptions): Data {
  const database = new AvailableDatabase(db, logger)
  const state = new State()
  const near = txStore && new NearRows(new TxStoreReader(txStore.path), () => state.chain.blocks, logger)
  return {
    database,
    tables: new ServingTables(new Tables(database, undefined, undefined, near)),
    near,
    history: historyTablesOf(db, database),
    state,
    definitions: new Definitions(definitions, logger),
  }
}
