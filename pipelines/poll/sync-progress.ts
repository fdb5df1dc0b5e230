import type { Logger } from '../logger.js'
import type { NodeClient } from '../node/client.js'
import { NodeRefusedError, NodeRpcError } from '../node/errors.js'
import { isDownloading } from '../node/initial-download.js'
import type { NodeChainInfo } from '../node/replies.js'

/** The intervals of the reports: while the log is behind the node, and while it waits for a node that downloads its chain. */
const BEHIND_EVERY_MS = 5_000
const DOWNLOADING_EVERY_MS = 30_000
/** The period over which rates are measured. */
const MEASURED_MS = 120_000

interface Sample {
  readonly at: number
  readonly height: number
  /** The part of the chain that is in the log, from 0 to 1. */
  readonly part: number
}

/** The block up to which the log contains the chain. */
interface Reached {
  readonly height: number
  readonly hash: string
}

/**
 * Reports the progress of a log that is more than a block behind its node, or whose node is behind its network: height, part, rate
 * and time left. The part is that of the chain's transactions, by the node's estimate, because the first blocks are nearly empty.
 */
export class SyncProgress {
  readonly #node: NodeClient
  readonly #logger: Logger
  readonly #now: () => number
  #samples: Sample[] = []
  #reportedAt: number

  constructor(node: NodeClient, logger: Logger, now: () => number) {
    this.#node = node
    this.#logger = logger
    this.#now = now
    this.#reportedAt = now()
  }

  /** Logs the progress if a report is due. @throws errors of the node's client. */
  async report(info: NodeChainInfo, reached: Reached | undefined, signal: AbortSignal): Promise<void> {
    const at = this.#now()
    const isBehind = info.blocks - (reached?.height ?? -1) > 1
    if (!isBehind && !isDownloading(info)) {
      this.#samples = []
      this.#reportedAt = at
      return
    }
    if (at - this.#reportedAt < (isBehind ? BEHIND_EVERY_MS : DOWNLOADING_EVERY_MS)) return
    this.#reportedAt = at
    const { height = -1 } = reached ?? {}
    const headers = Math.max(info.headers ?? 0, info.blocks)
    const part = reached === undefined ? 0 : await this.#partOf(info, reached, headers, signal)
    const [before] = (this.#samples = [
      ...this.#samples.filter((sample) => at - sample.at <= MEASURED_MS),
      { at, height, part },
    ])
    const seconds = before === undefined ? 0 : (at - before.at) / 1000
    const blocksPerSecond = seconds === 0 ? undefined : round((height - (before?.height ?? height)) / seconds)
    const gained = part - (before?.part ?? part)
    const secondsLeft = gained > 0 ? Math.round(((1 - part) / gained) * seconds) : undefined
    const percent = round(100 * part)
    const rate = blocksPerSecond === undefined ? '' : `, ${String(blocksPerSecond)} blocks/s`
    const left = secondsLeft === undefined ? '' : `, ${duration(secondsLeft)} left`
    this.#logger.info(
      { height, nodeHeight: info.blocks, headers, percent, blocksPerSecond, secondsLeft },
      `${isDownloading(info) ? 'the node downloads the chain' : 'catching up'}: block ${String(height)} of ${String(headers)}, ${String(percent)} %${rate}${left}`,
    )
  }

  async #partOf(
    info: NodeChainInfo,
    { height, hash }: Reached,
    headers: number,
    signal: AbortSignal,
  ): Promise<number> {
    const byHeight = Math.min(1, (height + 1) / (headers + 1))
    try {
      const [own, whole] = await Promise.all([
        this.#node.transactionsUpTo(hash, signal),
        this.#node.transactionsUpTo(info.bestblockhash, signal),
      ])
      if (own === undefined || whole === undefined) return byHeight
      return Math.min(1, (own / whole) * (info.verificationprogress ?? 1))
    } catch (error) {
      if (error instanceof NodeRpcError || error instanceof NodeRefusedError) return byHeight
      throw error
    }
  }
}

/** Returns a number with two significant digits at least. */
function round(value: number): number {
  return value >= 10 ? Math.round(value) : Number(value.toPrecision(2))
}

function duration(seconds: number): string {
  if (seconds < 90) return `${String(seconds)} s`
  if (seconds < 5_400) return `${String(Math.round(seconds / 60))} min`
  return `${String(Math.round(seconds / 3_600))} h`
}
