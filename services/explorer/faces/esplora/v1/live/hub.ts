import type { Core } from '../../../../core/core.js'
import { type Interests, type Moment, momentOf, replacementLists, type ReplacementsKind } from './moment.js'
import { ProjectedDeltas } from './projected-deltas.js'

/** The shortest time between two messages about the mempool. Those about a block are sent at once. */
const EVERY_MS = 1_000
/** The time after which a moment that could not be read is read again. */
const RETRY_MS = 1_000

/** A client of mempool.space's WebSocket. */
export interface Follower {
  readonly interests: Interests
  /** The index of the projected block that it follows. */
  readonly block: number | undefined
  /** Called at each moment after the first. @param deltas the differences of projected blocks by their index, as JSON. */
  changed(moment: Moment, deltas: ReadonlyMap<number, string>): void
}

/**
 * Reads the state for all clients of mempool.space's WebSocket together, when chain or mempool have changed, as long as there are
 * clients.
 */
export class LiveHub {
  readonly #core: Core
  readonly #followers = new Set<Follower>()
  readonly #deltas = new ProjectedDeltas()
  #moment: Moment | undefined
  /** The hashes that were touched since the last moment, see `Change`; undefined if any may be. */
  #touched: Set<string> | undefined = new Set()
  #timer: NodeJS.Timeout | undefined
  #making: Promise<void> | undefined
  #lastMs = 0
  #isDirty = false

  constructor(core: Core) {
    this.#core = core
    core.scripts.watch((touched) => {
      if (this.#followers.size === 0) return
      if (touched === undefined) this.#touched = undefined
      else if (this.#touched !== undefined) for (const hash of touched) this.#touched.add(hash)
      this.#wake()
    })
  }

  add(follower: Follower): void {
    this.#followers.add(follower)
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower)
    if (this.#followers.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#moment = undefined
    this.#touched = new Set()
    this.#deltas.clear()
  }

  /**
   * Returns the newest moment; undefined if the state cannot be read now. What a client registers in the turn in which it receives the
   * moment is part of all later ones.
   */
  async moment(): Promise<Moment | undefined> {
    while (this.#making !== undefined) await this.#making
    if (this.#moment === undefined) await this.#make()
    return this.#moment
  }

  /** Returns all transactions of a projected block as JSON. */
  projected(index: number): string {
    return this.#deltas.whole(index)
  }

  /** Returns a list of replacements as JSON; undefined if it cannot be read now. */
  async replacements(kind: ReplacementsKind): Promise<string | undefined> {
    const outcome = await this.#core.reader.operation(
      (context) => replacementLists(context, new Set([kind])),
      { minChainHeight: '', onDisconnect: () => undefined, weight: 1 },
    )
    return 'result' in outcome ? outcome.result.get(kind) : undefined
  }

  #wake(): void {
    this.#isDirty = true
    if (this.#making !== undefined) return
    const isNewTip = this.#core.reader.chain.tipHash !== this.#moment?.chain.tipHash
    const waitMs = isNewTip ? 0 : Math.max(0, this.#lastMs + EVERY_MS - performance.now())
    this.#schedule(waitMs)
  }

  #schedule(waitMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#make(), waitMs)
  }

  #make(): Promise<void> {
    this.#making ??= this.#read().finally(() => {
      this.#making = undefined
      if (this.#isDirty && this.#followers.size > 0) this.#wake()
    })
    return this.#making
  }

  async #read(): Promise<void> {
    this.#isDirty = false
    this.#lastMs = performance.now()
    const before = this.#moment
    const touched = this.#touched
    this.#touched = new Set()
    const followers = [...this.#followers]
    const interests = {
      txids: new Set(followers.flatMap(({ interests: { txids } }) => [...txids])),
      scripts: new Set(followers.flatMap(({ interests: { scripts } }) => [...scripts])),
      replacements: new Set(followers.flatMap(({ interests: { replacements } }) => [...replacements])),
    }
    try {
      const outcome = await this.#core.reader.operation(
        (context) => momentOf(context, before, interests, touched),
        { minChainHeight: '', onDisconnect: () => undefined, weight: 1 },
      )
      if (!('result' in outcome)) {
        this.#again(touched)
        return
      }
      if (this.#followers.size === 0) return
      this.#moment = outcome.result
      const { projected, mempool } = outcome.result
      const followed = new Set([...this.#followers].flatMap(({ block }) => block ?? []))
      const deltas = this.#deltas.update(projected, mempool, followed)
      if (before !== undefined) for (const each of this.#followers) each.changed(outcome.result, deltas)
    } catch (error) {
      this.#core.defect(error, 'mempool.space websocket')
      this.#again(touched)
    }
  }

  /** Reads the state again after a while: the database was unreachable. */
  #again(touched: ReadonlySet<string> | undefined): void {
    if (touched === undefined) this.#touched = undefined
    else for (const hash of touched) this.#touched?.add(hash)
    if (this.#followers.size > 0) this.#schedule(RETRY_MS)
  }
}
