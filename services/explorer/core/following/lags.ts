import type { EventLog, Topic } from '../../../../pipelines/log/port.js'

/** The part of a topic that a consumer has not processed yet. */
export interface Lag {
  readonly topic: string
  readonly consumer: string
  /** Events. */
  readonly lag: number
}

/**
 * Returns the lag of the materializer, from its commits, and of this explorer. Lags that cannot be read are missing.
 * @param own the positions up to which this explorer has read.
 */
export async function consumerLags(
  log: EventLog,
  own: Readonly<Record<'committed' | 'node', number>>,
): Promise<Lag[]> {
  const lag = async (topic: Topic, consumer: string, position: Promise<number> | number): Promise<Lag> => {
    const [last, current] = await Promise.all([log.last(topic), position])
    return { topic, consumer, lag: Math.max(0, last - current) }
  }
  const lags = await Promise.allSettled([
    lag('chain', 'materializer', log.committed('chain', 'materializer')),
    lag('committed', 'explorer', own.committed),
    lag('node', 'explorer', own.node),
  ])
  return lags.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}
