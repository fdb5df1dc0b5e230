import { Type } from '@sinclair/typebox'
import { serializeHeader } from '../../../../../pipelines/chain/block.js'
import { findBlock } from '../../../core/reads/chain/block-rows.js'
import { BadArgument, declareRead, NotFound, type ReadContext } from '../../../core/reads/read.js'
import type { ChainState } from '../../../core/state/state.js'
import { blocksBetween } from '../../../core/tables/blocks.js'
import { text } from './arguments.js'
import { headerProof } from './header-proofs.js'

/** The number of headers of an answer: those between two changes of the difficulty. */
const MAX_HEADERS = 2_016

/** Returns the header of the tip as the protocol shows it; undefined before the first block. */
export function tipOf({ tip, height }: ChainState): string | undefined {
  return tip && `{"hex":"${serializeHeader(tip).toString('hex')}","height":${String(height)}}`
}

/** Returns branch and root for a header; none without a checkpoint. @throws BadArgument. */
async function proofOf({ chain }: ReadContext, height: number, checkpoint: number) {
  if (checkpoint === 0) return {}
  if (checkpoint < height || checkpoint > chain.height)
    throw new BadArgument(
      `require header height ${String(height)} <= cp_height ${String(checkpoint)} <= chain height ${String(chain.height)}`,
    )
  return headerProof(chain.blocks, height, checkpoint)
}

export const header = declareRead({
  name: 'electrumHeader',
  path: '/electrum/header',
  fresh: 'head',
  args: { height: text('height'), checkpoint: text('height of the checkpoint; 0 for none') },
  answer: Type.Unknown(),
  async resolve(context, { height, checkpoint }) {
    const block = await findBlock(context.tables, context.chain, height)
    if (block === undefined) throw new NotFound(`height ${height} out of range`, Number(height))
    const own = serializeHeader(block.row).toString('hex')
    const proof = await proofOf(context, Number(height), Number(checkpoint))
    return 'root' in proof ? { header: own, ...proof } : own
  },
})

export const headers = declareRead({
  name: 'electrumHeaders',
  path: '/electrum/headers',
  fresh: 'head',
  args: {
    from: text('height of the first'),
    count: text('number'),
    checkpoint: text('height of the checkpoint; 0 for none'),
    isList: Type.Boolean({ description: 'whether the answer has one text for each header' }),
  },
  answer: Type.Unknown(),
  async resolve(context, { from: first, count, checkpoint, isList }) {
    const { tables, chain } = context
    const from = Number(first)
    const to = Math.min(from + Math.min(Number(count), MAX_HEADERS) - 1, chain.height)
    const rows = to < from ? [] : await blocksBetween(tables.unchecked, from, to)
    // A row may be there twice.
    const byHeight = new Map(
      rows.filter((row) => chain.blocks.hashAt(row.height) === row.hash).map((row) => [row.height, row]),
    )
    const hexes = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => {
      const row = byHeight.get(from + index)
      if (row === undefined) throw new Error(`table blocks lacks a block at height ${String(from + index)}`)
      return serializeHeader(row).toString('hex')
    })
    const proof = hexes.length === 0 ? {} : await proofOf(context, to, Number(checkpoint))
    const all = isList ? { headers: hexes } : { hex: hexes.join('') }
    return { ...all, count: hexes.length, max: MAX_HEADERS, ...proof }
  },
})
