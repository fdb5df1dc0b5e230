import { Type } from '@sinclair/typebox'
import { decodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { blockMembers, packagesInBlock } from '../../../core/reads/mempool/block-contents.js'
import { parentsOf } from '../../../core/reads/mempool/transaction-package.js'
import { declareRead, networkIn, NEVER, NotFound, type ReadContext } from '../../../core/reads/read.js'
import { hashIn, text } from '../arguments.js'
import { blockIn } from '../blocks.js'
import { type StrippedTx, strippedConfirmed } from './stripped.js'

const NOT_IN_BLOCK = 'Transaction not found in summary'

/** Returns the transactions of a block of the chain, with their effective fee rates among those of the block. @throws NotFound. */
async function summaryOf(context: ReadContext, hash: string): Promise<StrippedTx[]> {
  const network = networkIn(context)
  const members = await blockMembers(context, await blockIn(context, hash), network)
  const paying = members.slice(1).map(({ tx }) => tx)
  const packages = packagesInBlock(paying)
  const txids = new Set(paying.map(({ txid }) => txid))
  const spent = new Set(paying.flatMap(parentsOf))
  return members.map(({ tx, row: { body, prevouts } }) =>
    strippedConfirmed(
      tx,
      { body, coins: decodePrevouts(prevouts), network },
      {
        effective: packages.get(tx.txid) ?? tx,
        isParent: spent.has(tx.txid),
        isChild: parentsOf(tx).some((txid) => txids.has(txid)),
      },
    ),
  )
}

export const blockSummary = declareRead({
  name: 'mempoolSpaceBlockSummary',
  path: '/v1/block/:hash/summary',
  fresh: 'objects',
  args: { hash: text('hash of the block') },
  answer: Type.Unknown(),
  resolve: (context, { hash }) => summaryOf(context, hash),
})

export const blockTxSummary = declareRead({
  name: 'mempoolSpaceBlockTxSummary',
  path: '/v1/block/:hash/tx/:txid/summary',
  fresh: 'objects',
  args: { hash: text('hash of the block'), txid: text('txid') },
  answer: Type.Unknown(),
  async resolve(context, { hash, txid }) {
    const id = hashIn(txid)
    const found = (await summaryOf(context, hash)).find((tx) => tx.txid === id)
    if (found === undefined) throw new NotFound(NOT_IN_BLOCK, NEVER)
    return found
  },
})
