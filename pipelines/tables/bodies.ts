import { TX_BODIES } from './chain-tables.js'
import { KEYS, type Querier } from './keys.js'
import { type SelectedRow, Selection } from './selection.js'

/** The data that a txid determines: the transaction without witnesses, and the outputs that it spends (see `decodePrevouts`). */
export type Body = SelectedRow<typeof TX_BODIES.columns>

const BODY = new Selection(TX_BODIES.columns)

/** Returns transactions by their txids. Those that the table does not have are missing from the map. */
export async function readBodies(db: Querier, txids: Iterable<string>): Promise<Map<string, Body>> {
  const bodies = await BODY.queryByKeys(db, `FROM tx_bodies WHERE txid IN ${KEYS}`, txids)
  return new Map(bodies.map((body) => [body.txid, body]))
}
