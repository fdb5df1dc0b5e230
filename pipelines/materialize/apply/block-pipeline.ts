import type { Database } from '../../tables/clickhouse.js'
import type { WorkingChain } from '../working-chain.js'
import { CumulativeRows } from './block-applier.js'
import { type BlockWriter, type LookedUp, NOTHING_LOOKED_UP, ONE_REPEATED } from './block-writer.js'
import { OwnRows } from './own-rows.js'
import { partsOf } from './repeated-coinbases.js'
import { type BlockEvent, type Made, madeFrom } from './script-changes.js'
import { ScriptChangesMaker } from './script-changes-maker.js'

/** The maximum size of a batch of events: large enough for large inserts, small enough for memory. */
export const BATCH_EVENTS = 1000
export const BATCH_BYTES = 8 << 20
/** The number of scripts whose totals the writer of a pipeline caches: some 100 MB when full. */
export const CACHED_SCRIPTS = 250_000
/** The number of blocks per job of the preparing thread. */
const BLOCKS_AT_ONCE = 50
/** The number of blocks that are prepared on the main thread, because sending them to the preparing thread would take longer. */
const FEW_BLOCKS = 4
/** The number of jobs that may wait for their results to be applied: the thread always has work, and is never far ahead. */
const MAX_PENDING = 2

/** An event that connects a block. */
export interface Connecting extends BlockEvent {
  readonly hash: string
}

/** Blocks that are being prepared. */
interface PendingBlocks {
  readonly blocks: readonly Connecting[]
  readonly job: Promise<Made>
  readonly lookedUp: Promise<LookedUp>
}

export interface BlockPipelineParts {
  readonly db: Database
  /** It caches `CACHED_SCRIPTS`. */
  readonly writer: BlockWriter
  readonly chain: () => WorkingChain
  /** Returns the writer number of the next blocks. */
  readonly number: () => bigint
}

/**
 * Writes the rows of consecutive blocks, in three stages that run at the same time: a preparing thread derives the columns that do
 * not depend on the chain below a block, the main thread adds the columns that do, and ClickHouse inserts the rows of earlier
 * blocks. After an error the pipeline must be replaced, once `settled` has resolved.
 */
export class BlockPipeline {
  readonly #parts: BlockPipelineParts
  #maker: ScriptChangesMaker | undefined
  /** The blocks that were added and can still be removed without leaving a row. */
  #unsubmitted: Connecting[] = []
  /** The jobs whose results are applied next. */
  readonly #pending: PendingBlocks[] = []
  /** The rows of applied blocks that are not being inserted yet. */
  #rows = { applied: new CumulativeRows(), own: new OwnRows() }
  /** The inserts and other tasks that were sent, which run while the next blocks are applied. */
  #running: Promise<void> = Promise.resolve()
  /** The numbers of scripts that `#rows` and the running inserts touch: their totals are not in the tables yet. */
  #scripts = { applied: 0, inserting: 0 }

  constructor(parts: BlockPipelineParts) {
    this.#parts = parts
  }

  /**
   * Adds a block, whose parent is the block of the previous call.
   * @param submits false to keep this and the blocks before it removable.
   * @throws PoisonEvent for an invalid block, of this or of an earlier call; and the errors of inserts.
   */
  async add(block: Connecting, submits = true): Promise<void> {
    this.#unsubmitted.push(block)
    if (this.#unsubmitted.length < BLOCKS_AT_ONCE || !submits) return
    this.#submit()
    while (this.#pending.length > MAX_PENDING) await this.#applyNext()
  }

  /** Removes the highest block, if it can be removed. @returns whether it was. */
  remove(): boolean {
    return this.#unsubmitted.pop() !== undefined
  }

  /** Applies all blocks that were added, and starts to insert their rows. @throws as `add`. */
  async applyAll(): Promise<void> {
    this.#submit()
    while (this.#pending.length > 0) await this.#applyNext()
    await this.#send()
  }

  /** Runs a task after everything that was sent before it. An error is thrown by the next call that waits for it. */
  queue(task: () => Promise<void>): void {
    this.#running = this.#running.then(task)
    // The error is handled where `#running` is awaited.
    this.#running.catch(() => undefined)
  }

  /** Waits for everything that was sent. @throws the first error of it. */
  async sent(): Promise<void> {
    await this.#running
    this.#scripts.inserting = 0
  }

  /** Resolves when nothing that was sent runs any more, whether it succeeded or not. */
  async settled(): Promise<void> {
    await this.#running.catch(() => undefined)
  }

  /** Stops the preparing thread, if it runs; the next large number of blocks starts it again. */
  async rest(): Promise<void> {
    const maker = this.#maker
    this.#maker = undefined
    await maker?.close()
  }

  #submit(): void {
    const blocks = this.#unsubmitted
    const { network } = this.#parts.chain()
    if (blocks.length === 0 || network === undefined) return
    const { hasBodies } = this.#parts.writer
    if (blocks.length > FEW_BLOCKS) this.#maker ??= new ScriptChangesMaker()
    const job =
      blocks.length > FEW_BLOCKS && this.#maker !== undefined
        ? this.#maker.make(blocks, network, hasBodies)
        : Promise.resolve().then(() => madeFrom({ events: blocks, network, hasBodies }))
    // The error is handled where the result is awaited.
    job.catch(() => undefined)
    const lookedUp = this.#lookUp(job, [...this.#pending])
    lookedUp.catch(() => undefined)
    this.#pending.push({ blocks, job, lookedUp })
    this.#unsubmitted = []
  }

  /**
   * Looks up what a job needs while the jobs below are applied, so that the queries delay none of them.
   * @param below the jobs that are not applied yet.
   */
  async #lookUp(job: Promise<Made>, below: readonly PendingBlocks[]): Promise<LookedUp> {
    const { scriptChanges } = await job
    const lower = await Promise.all(below.map(async (each) => (await each.job).scriptChanges))
    return this.#parts.writer.lookUp(scriptChanges, lower)
  }

  async #applyNext(): Promise<void> {
    const [next] = this.#pending
    if (next === undefined) return
    const [made, lookedUp] = await Promise.all([next.job, next.lookedUp])
    if (lookedUp.repeated.length === 0) await this.#apply(next.blocks, made, lookedUp)
    else await this.#applyParts(next.blocks, lookedUp.repeated)
    this.#pending.shift()
  }

  async #apply(
    blocks: readonly Connecting[],
    { rows, scriptChanges }: Made,
    lookedUp: LookedUp,
  ): Promise<void> {
    await this.#makeRoom()
    const { db, writer, chain, number } = this.#parts
    const working = chain()
    const parent = await working.parentState(db, number())
    this.#rows.own.take(rows)
    const { sums, scripts } = await writer.apply(this.#rows.applied, scriptChanges, parent, true, lookedUp)
    working.write(blocks, sums)
    this.#scripts.applied += scripts
  }

  /** Applies blocks, those with a repeated coinbase when the blocks below them are in the tables. */
  async #applyParts(blocks: readonly Connecting[], repeated: readonly number[]): Promise<void> {
    const { network } = this.#parts.chain()
    const { hasBodies } = this.#parts.writer
    if (network === undefined) return
    for (const { part, isRepeated } of partsOf(blocks, repeated)) {
      if (isRepeated) {
        await this.#send()
        await this.sent()
      }
      const made = madeFrom({ events: part, network, hasBodies })
      await this.#apply(part, made, isRepeated ? ONE_REPEATED : NOTHING_LOOKED_UP)
    }
  }

  /** Makes room in the cache, so that it does not evict totals that are not in the tables yet. */
  async #makeRoom(): Promise<void> {
    const isFull = (): boolean => this.#scripts.applied + this.#scripts.inserting > CACHED_SCRIPTS / 2
    if (isFull()) await this.#send()
    if (isFull()) await this.sent()
  }

  /** Starts to insert the rows of applied blocks, after what was sent before. */
  async #send(): Promise<void> {
    const { applied, own } = this.#rows
    if (applied.blocks.length === 0) return
    await this.sent()
    this.#scripts = { applied: 0, inserting: this.#scripts.applied }
    this.#rows = { applied: new CumulativeRows(), own: new OwnRows() }
    const { writer, chain, number } = this.#parts
    const by = { writer: number(), beside: chain().beside }
    this.queue(() => writer.insert(applied, own, by))
  }
}
