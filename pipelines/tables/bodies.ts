import { KEYS, type Querier } from './keys.js'
import { TXS } from './schema.js'
import { type SelectedRow, Selection } from './selection.js'

const { txid, body, prevouts } = TXS.columns
const COLUMNS = { txid, body, prevouts }
const BODY = new Selection(COLUMNS)

/** The data that a txid determines: the transaction without witnesses, and the outputs that it spends (see `decodePrevouts`). */
export type Body = SelectedRow<typeof COLUMNS>

/** The name of a transaction of a block. */
export interface LocatedTx {
  readonly txid: string
  /** The hash of the block. */
  readonly hash: string
}

/** The parts of a transaction as in a row of `txs`; all are empty in a row that leaves them to the node. */
export interface TxParts extends Pick<Body, 'body' | 'prevouts'> {
  readonly witness: Buffer
}

/** Returns transactions by their txids. Those that the table does not have are missing from the map. */
export async function readBodies(db: Querier, txids: Iterable<string>): Promise<Map<string, Body>> {
  const bodies = await BODY.queryByKeys(db, `FROM txs WHERE txid IN ${KEYS}`, txids)
  return new Map(bodies.map((body) => [body.txid, body]))
}
