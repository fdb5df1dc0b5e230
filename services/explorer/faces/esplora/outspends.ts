import { Type } from '@sinclair/typebox'
import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { outpointOf } from '../../../../pipelines/chain/prevout.js'
import { isUnspendable } from '../../../../pipelines/chain/script.js'
import { parseBody, readTx, type TxOutput } from '../../../../pipelines/chain/transaction.js'
import { findTransaction } from '../../core/reads/chain/transaction-details.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { outputPrefix } from '../../core/tables/point-keys.js'
import {
  allSpends,
  confirmationsByTxid,
  NO_WITNESS,
  spendsIn,
  transactionByTxid,
  finalHeightOf,
  withTxids,
} from '../../core/tables/transactions.js'
import { hashIn, numberIn, text } from './arguments.js'
import { statusAt } from './transaction-rows.js'
import { UNCONFIRMED } from './transaction-json.js'

/** The answer for an output that nothing spends. */
export const UNSPENT = '{"spent":false}'
/** About the characters of an item of a list of spends. */
const CHARACTERS = 300

type Spent = { readonly txid: string; readonly vin: number; readonly status: string }

const spendJson = (spend: Spent | undefined): string =>
  spend === undefined
    ? UNSPENT
    : `{"spent":true,"txid":"${spend.txid}","vin":${String(spend.vin)},"status":${spend.status}}`

/** Returns the input of the mempool that spends an output. */
function unconfirmedSpend(outpoint: string, { mempool }: Pick<ReadContext, 'mempool'>): Spent | undefined {
  const spender = mempool.spenderOf(outpoint)
  return spender && { txid: spender.txid, vin: spender.outpoints.indexOf(outpoint), status: UNCONFIRMED }
}

/** Returns the spends of the outputs of a transaction as JSON, one for each output. @throws NotFound. */
async function spendsOf(txid: string, context: ReadContext): Promise<readonly string[]> {
  const { tables, chain, validity, size } = context
  const match = await findTransaction(txid, context, (key) =>
    transactionByTxid(tables, chain.blocks, key, NO_WITNESS),
  )
  const outputs: readonly TxOutput[] =
    match.unconfirmed === undefined
      ? parseBody(match.row.body).outputs
      : readTx(new ByteReader(match.unconfirmed.raw)).outputs
  await size.reserve(CHARACTERS * outputs.length)
  validity.finalFrom(match.unconfirmed === undefined ? finalHeightOf(match.row) : NEVER)
  const rows =
    match.unconfirmed === undefined
      ? await withTxids(
          tables,
          await spendsIn(
            tables,
            chain.blocks,
            match.row,
            await allSpends(tables, txid, await tables.spends.get(outputPrefix(txid))),
          ),
        )
      : []
  const confirmed = new Map(rows.map((spend) => [spend.prevVout, spend]))
  return outputs.map(({ script }, vout) => {
    const spend = confirmed.get(vout)
    if (spend !== undefined) {
      validity.finalFrom(spend.height)
      return spendJson({ txid: spend.txid, vin: spend.vin, status: statusAt(spend.height, chain) })
    }
    if (!isUnspendable(script)) validity.finalFrom(NEVER)
    return spendJson(unconfirmedSpend(outpointOf(txid, vout), context))
  })
}

export const outspends = declareRead({
  name: 'esploraOutspends',
  path: '/tx/:txid/outspends',
  fresh: 'objects',
  args: { txid: text('txid of the transaction') },
  answer: Type.Unknown(),
  resolve: async (context, { txid }) =>
    new WrittenAnswer(`[${(await spendsOf(hashIn(txid), context)).join(',')}]`),
})

export const outspend = declareRead({
  name: 'esploraOutspend',
  path: '/tx/:txid/outspend/:vout',
  fresh: 'objects',
  args: { txid: text('txid of the transaction'), vout: text('index of the output') },
  answer: Type.Object({ spent: Type.Literal(false) }),
  // Also for an output that does not exist.
  emptyFrom: () => 0,
  async resolve(context, { txid: requested, vout: index }) {
    const [txid, vout] = [hashIn(requested), numberIn(index)]
    const { spends, isKnown } = await spendOf(txid, vout, context)
    return isKnown ? new WrittenAnswer<{ spent: false }>(spendJson(spends)) : { spent: false as const }
  },
})

/** Returns the spend of an output, and whether chain or mempool have its transaction. */
export async function spendOf(
  txid: string,
  vout: number,
  context: ReadContext,
): Promise<{ readonly spends: Spent | undefined; readonly isKnown: boolean }> {
  const { tables, chain, validity, mempool } = context
  validity.dependsOn(txid)
  const [found, first] = await Promise.all([
    confirmationsByTxid(tables, chain.blocks, [txid]),
    tables.spends.get(outputPrefix(txid)),
  ])
  const row = found.get(txid)
  if (row !== undefined) {
    const rows = await spendsIn(tables, chain.blocks, row, await allSpends(tables, txid, first))
    const [spend] = await withTxids(
      tables,
      rows.filter(({ prevVout }) => prevVout === vout),
    )
    if (spend !== undefined) {
      validity.finalFrom(Math.max(finalHeightOf(row), spend.height))
      return {
        isKnown: true,
        spends: { txid: spend.txid, vin: spend.vin, status: statusAt(spend.height, chain) },
      }
    }
  }
  validity.finalFrom(NEVER)
  return {
    isKnown: row !== undefined || mempool.get(txid) !== undefined,
    spends: unconfirmedSpend(outpointOf(txid, vout), context),
  }
}

/** Returns the spends of the outputs of a transaction as JSON; undefined if it is not known. */
export async function spendsIfKnown(txid: string, context: ReadContext): Promise<string | undefined> {
  try {
    return `[${(await spendsOf(txid, context)).join(',')}]`
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}

/** Returns the spend of an output as JSON; undefined if its transaction is not known. */
export async function spendOfOutpoint(
  txid: string,
  vout: number,
  context: ReadContext,
): Promise<string | undefined> {
  const { spends, isKnown } = await spendOf(txid, vout, context)
  return isKnown ? spendJson(spends) : undefined
}
