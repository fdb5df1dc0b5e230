import type { BlockId } from '../../../pipelines/chain/block.js'
import type { Blocks } from './blocks.js'
import type { Changes } from './changes.js'
import { type Cause, eventOf, transactionOf, type WebhookEvent } from './events.js'
import type { Hook } from '../hooks.js'
import type { Match } from './matching.js'
import type { StoredBlock } from '../store.js'

/** Returns the block of a chain at a height; undefined if it is not known. */
export type ChainAt = (height: number) => StoredBlock | undefined

const causeOf = ({ position, time }: Pick<StoredBlock, 'position' | 'time'>): Cause => {
  return { position: `chain ${String(position)}`, time }
}

const idOf = ({ height, hash }: BlockId): BlockId => ({ height, hash })

/**
 * Returns the events of the confirmations that a block adds: those of the transactions in it, and in blocks below it. They depend on
 * nothing but the blocks and the hooks.
 * @param at the chain up to the block.
 * @param isWanted selects matches.
 */
export async function confirmedBy(
  block: StoredBlock,
  at: ChainAt,
  hooks: readonly Hook[],
  blocks: Blocks,
  isWanted: (match: Match) => boolean = () => true,
): Promise<WebhookEvent[]> {
  const watching = hooks.filter(
    ({ scripts, txids, minValue }) => scripts.size + txids.size > 0 || minValue !== undefined,
  )
  const levels = new Set(watching.flatMap(({ confirmations }) => confirmations))
  const events: WebhookEvent[] = []
  for (const level of [...levels].sort((one, other) => other - one)) {
    const lower = level === 0 ? undefined : at(block.height - level + 1)
    // A block whose event is not known is below those with which this service has started.
    if (lower === undefined || lower.position < 0) continue
    const { time, matches } = await blocks.matchesIn(lower)
    for (const match of matches)
      if (match.hook.confirmations.includes(level) && isWanted(match))
        events.push(
          eventOf(
            match.hook.id,
            'transaction.confirmed',
            causeOf(block),
            `${match.txid} ${lower.hash} ${String(level)}`,
            {
              ...transactionOf(match),
              confirmations: level,
              block: { ...idOf(lower), time },
              tip: idOf(block),
            },
          ),
        )
  }
  return events
}

/** A reorganisation. */
export interface Reorg extends Changes {
  /** The settled event of the log after which the other branch is the chain. */
  readonly settled: Pick<StoredBlock, 'position' | 'time'>
  readonly tip: BlockId
  /** Returns a block of the chain before. */
  readonly at: ChainAt
}

/**
 * Returns the events of the blocks that leave the chain: of the reorganisation, and of the transactions in them whose confirmation
 * was reported.
 * @param since returns the position at which a hook was registered.
 */
export async function undoneBy(
  { disconnected, connected, settled, tip, at }: Reorg,
  hooks: readonly Hook[],
  blocks: Blocks,
  since: (hook: Hook) => number,
): Promise<WebhookEvent[]> {
  const [top, bottom] = [disconnected[0], disconnected.at(-1)]
  if (top === undefined || bottom === undefined) return []
  const cause = causeOf(settled)
  const fork = at(bottom.height - 1)
  const data = {
    fork: fork === undefined ? null : idOf(fork),
    depth: disconnected.length,
    disconnected: disconnected.map(({ hash }) => hash),
    connected: connected.map(({ hash }) => hash),
    tip,
  }
  const events = hooks
    .filter(({ reorgs }) => reorgs)
    .map(({ id }) => eventOf(id, 'reorg', cause, tip.hash, data))
  for (const { height, hash } of disconnected) {
    const block = at(height)
    if (block?.hash !== hash || block.position < 0) continue
    const { time, matches } = await blocks.matchesIn(block)
    for (const match of matches) {
      const wasReported = match.hook.confirmations.some((level) => {
        const confirming = level === 0 ? undefined : at(height + level - 1)
        // Of a watched txid, confirmations before the registration are reported too.
        const isEarly = !match.hook.txids.has(match.txid) && (confirming?.position ?? -1) <= since(match.hook)
        return confirming !== undefined && !isEarly
      })
      if (!wasReported) continue
      events.push(
        eventOf(match.hook.id, 'transaction.unconfirmed', cause, `${match.txid} ${hash}`, {
          ...transactionOf(match),
          confirmations: top.height - height + 1,
          block: { height, hash, time },
          tip,
        }),
      )
    }
  }
  return events
}
