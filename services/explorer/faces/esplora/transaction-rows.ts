import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { parseBody, readTx } from '../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../../core/mempool/shown-tx.js'
import { networkIn, type ReadContext } from '../../core/reads/read.js'
import type { PlacedTx } from '../../core/tables/lookups.js'
import {
  storedOf,
  transactionAt,
  transactionByTxid,
  type TxRow,
  finalHeightOf,
} from '../../core/tables/transactions.js'
import { confirmedStatus, transactionJson, UNCONFIRMED } from './transaction-json.js'

type Sources = Pick<ReadContext, 'chain' | 'tables' | 'validity' | 'size'>

const NOTHING = Buffer.alloc(0)
/** About the characters of JSON of a byte of a transaction: scripts are there as hexadecimal and as opcodes. */
const CHARACTERS_PER_BYTE = 12

/** Returns transactions of the chain as JSON, in their order. They depend on their blocks alone. */
export async function transactionsOfBlocks(
  located: readonly PlacedTx[],
  context: Sources,
): Promise<readonly string[]> {
  const { tables, size } = context
  const stored = await storedOf(tables, located, true)
  const bytes = [...stored.values()].reduce((sum, row) => sum + row.bodySize + row.witnessSize, 0)
  await size.reserve(CHARACTERS_PER_BYTE * bytes)
  const items: string[] = []
  for (const at of located) items.push(confirmed(await transactionAt(tables, at, stored), context))
  return items
}

/** Returns a transaction of the mempool or of the chain as JSON; undefined if neither has it. */
export async function transactionNow(txid: string, context: ReadContext): Promise<string | undefined> {
  const inMempool = context.mempool.get(txid)
  if (inMempool !== undefined) {
    context.validity.dependsOn(txid)
    return unconfirmed(inMempool)
  }
  const row = await transactionByTxid(
    context.tables,
    context.chain.blocks,
    txid,
    undefined,
    ({ bodySize, witnessSize }) => context.size.reserve(CHARACTERS_PER_BYTE * (bodySize + witnessSize)),
  )
  if (row === undefined) return undefined
  context.validity.finalFrom(finalHeightOf(row))
  return confirmed(row, context)
}

/** Returns the JSON of the status of a transaction in the block of the chain at a height. */
export function statusAt(height: number, { blocks }: ReadContext['chain']): string {
  return confirmedStatus({ height, hash: blocks.hashAt(height), time: blocks.timeAt(height) })
}

function confirmed(row: TxRow, context: Sources): string {
  const { chain, validity } = context
  const { body, witness = NOTHING, prevouts, height, txid } = row
  validity.dependsOn(txid)
  validity.finalFrom(height)
  return transactionJson({
    tx: parseBody(body, witness),
    coins: decodePrevouts(prevouts),
    status: statusAt(height, chain),
    network: networkIn(context),
  })
}

/** Returns an unconfirmed transaction as JSON. */
export function unconfirmed({ raw, coins, fee, network }: ShownTx): string {
  return transactionJson({ tx: readTx(new ByteReader(raw)), coins, fee, status: UNCONFIRMED, network })
}
