import { dayOf } from '../../../../pipelines/chain/time.js'
import { MissingBlock } from '../../../../pipelines/tables/chain-view.js'
import { blockAt } from '../tables/blocks.js'
import { blockKey } from '../tables/point-keys.js'
import type { Tables } from '../tables/tables.js'
import { type Days, daysFrom } from './days.js'
import type { ChainState } from './state.js'

type Queries = Pick<Tables, 'query' | 'unchecked' | 'isOperation' | 'blocks'>

/** The state of a chain as of one of its blocks. */
export interface PastChain extends ChainState {
  readonly present: ChainState
}

/**
 * Returns the state of a chain as of one of its blocks: what it was when the block was the newest one. Rows of blocks do not change, so
 * everything that is computed from this state is what it was then, except that days are read by `daysOf`, and `recent` is not known.
 * @param height at most that of the tip.
 * @throws DatabaseUnavailable; RangeError for another height.
 */
export async function chainAt(present: ChainState, tables: Queries, height: number): Promise<PastChain> {
  const { view } = present
  if (view === undefined || height > present.height)
    throw new RangeError(`the chain has no height ${String(height)}`)
  const hash = present.blocks.hashAt(height)
  const tip = tables.isOperation
    ? await tables.blocks.get(blockKey(height, hash))
    : await blockAt(tables.unchecked, height, hash)
  if (tip === undefined) throw new MissingBlock(`block ${hash} of the chain is missing from the tables`)
  return {
    ...present,
    view: view.upTo({ height, hash }),
    height,
    tipHash: hash,
    tip,
    blocks: present.blocks.first(height + 1),
    present,
    get recent(): never {
      throw new Error('the newest blocks before an earlier block are not in memory')
    },
    get days(): never {
      throw new Error('days as of an earlier block are read by daysOf')
    },
  }
}

/**
 * Returns the days of a chain. Of a past one, those that later blocks have changed are summed again: at most the days from the median
 * time of its tip on, because later blocks have later times.
 * @throws DatabaseUnavailable.
 */
export async function daysOf(chain: ChainState, tables: Pick<Tables, 'query'>): Promise<Days> {
  const { present, view, tip } = chain
  if (present === undefined || view === undefined || tip === undefined) return chain.days
  const first = dayOf(tip.medianTime)
  const unchanged = present.days.filter(({ day }) => day < first)
  return [...(await daysFrom(tables, view, first)), ...unchanged]
}
