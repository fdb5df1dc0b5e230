import { MempoolTxs } from '../mempool/mempool-txs.js'
import { chainAt } from '../state/past.js'
import { NO_BLOCK, NotFound, type Read, type ReadContext } from '../reads/read.js'
import { Validity } from '../reads/validity.js'

/**
 * Returns the sources of an answer as of a block of the chain: the chain up to it, and an empty mempool. The answer depends on that
 * block alone, which the validity of the given context records. Labels and mining pools are those of now.
 * @throws NotFound for a height that the chain does not have; DatabaseUnavailable.
 */
export async function contextAt(context: ReadContext, height: number): Promise<ReadContext> {
  const { chain, tables, validity } = context
  if (height > chain.height) throw new NotFound(NO_BLOCK, height)
  const past = await chainAt(chain, tables, height)
  validity.asOf({ height, tipHash: past.tipHash })
  validity.finalFrom(height)
  const sources: ReadContext = {
    ...context,
    chain: past,
    mempool: MempoolTxs.NONE,
    // What the resolver records is about later changes of the same objects.
    validity: new Validity(),
    ofHead: async (read, args) => resolveRead(read, sources, args),
  }
  return sources
}

/** Resolves a read: as of the block that its argument `at` names, if it is given. @throws as the resolver does, and `contextAt`. */
export async function resolveRead<T>(
  read: Pick<Read, 'resolve'>,
  context: ReadContext,
  args: Readonly<Record<string, unknown>>,
): Promise<T> {
  const { at } = args
  const sources = typeof at === 'number' ? await contextAt(context, at) : context
  return (await read.resolve(sources, args as never)) as T
}
