import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { NodeClient } from '../node/client.js'
import { chainFilter, ChainView, loadChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { type Head, latestHead } from '../tables/head.js'

/** Something that is not as it must be. Amounts in base units. */
export interface Difference {
  /** What it is of: a block, an address, a day. */
  readonly what: string
  readonly indexed: string
  /** What the node says, or what other rows of the index add up to. */
  readonly expected: string
}

export interface CheckResult {
  readonly name: string
  /** How many blocks, scripts, days or transactions were looked at. */
  readonly checked: number
  readonly differences: readonly Difference[]
}

export interface AuditReport {
  readonly tip: { readonly height: number; readonly hash: string }
  readonly seed: string
  readonly checks: readonly CheckResult[]
  readonly differences: number
}

export interface AuditParts {
  readonly db: Database
  readonly log: EventLog
  readonly node: NodeClient
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** What a check sees: one state of the index, and whom to ask. */
export interface AuditContext extends AuditParts {
  readonly head: Head
  readonly view: ChainView
  /** Blocks and scripts of a sample. */
  readonly sample: number
  /** Decides what a sample holds. */
  readonly seed: string
  readonly progress: (done: number, total: number) => void
}

/** Gathers what a check finds; names the first ones and counts the rest. */
export class Findings {
  readonly #differences: Difference[] = []
  #more = 0
  checked = 0

  constructor(private readonly name: string) {}

  /** Notes a difference, unless there is none. */
  expect(what: string, indexed: unknown, expected: unknown): void {
    const [is, must] = [String(indexed), String(expected)]
    if (is === must) return
    if (this.#differences.length < MOST_NAMED) this.#differences.push({ what, indexed: is, expected: must })
    else this.#more++
  }

  result(): CheckResult {
    const more = { what: 'further differences', indexed: String(this.#more), expected: '0' }
    const differences = this.#more === 0 ? this.#differences : [...this.#differences, more]
    return { name: this.name, checked: this.checked, differences }
  }
}

const MOST_NAMED = 20

export type Check = (context: AuditContext) => Promise<CheckResult>

/** There is nothing to audit yet. */
export class NothingIndexed extends Error {
  override readonly name = 'NothingIndexed'
}

export interface AuditOptions {
  readonly sample: number
  readonly seed: string
  readonly checks: Readonly<Record<string, Check>>
  /** Told as a check goes on. */
  readonly progress?: (check: string, done: number, total: number) => void
}

/** Times that a check is made again whose state left the chain while it ran. */
const MOST_TRIES = 5

/**
 * Makes the checks one after the other, each on one state of the index: the newest. Where a reorganisation comes meanwhile the
 * check is made again.
 * @throws NothingIndexed; DatabaseUnavailable, NodeFaultError where one cannot be asked.
 */
export async function audit(parts: AuditParts, options: AuditOptions): Promise<AuditReport> {
  const checks: CheckResult[] = []
  let tip = { height: -1, hash: '' }
  for (const [name, check] of Object.entries(options.checks)) {
    for (let tries = 1; ; tries++) {
      const { head, view } = await stateNow(parts)
      const progress = (done: number, total: number): void => options.progress?.(name, done, total)
      const { sample, seed } = options
      const result = await check({ ...parts, head, view, sample, seed, progress })
      tip = { height: head.tipHeight, hash: head.tipHash }
      const sound = result.differences.length === 0
      if (!sound && tries < MOST_TRIES && !(await isStillOfTheChain(parts, head))) continue
      checks.push(result)
      break
    }
  }
  const differences = checks.reduce((sum, check) => sum + check.differences.length, 0)
  return { tip, seed: options.seed, checks, differences }
}

async function stateNow(parts: AuditParts): Promise<{ head: Head; view: ChainView }> {
  const head = await latestHead(parts.db)
  if (head === undefined || head.tipHeight < 0) throw new NothingIndexed('nothing is indexed yet')
  return { head, view: await viewOf(parts, head) }
}

/** With a block missing in the tables the tail is taken from the node, so that the rest can be looked at all the same. */
async function viewOf({ db, node, signal }: AuditParts, head: Head): Promise<ChainView> {
  try {
    return await loadChainView(db, head)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('not in the tables')) throw error
    const from = head.finalHeight + 1
    const hashes = await node.blockHashes(from, head.tipHeight - head.finalHeight, signal)
    return new ChainView(head, new Map(hashes.map((hash, at) => [from + at, hash])), new Set())
  }
}

/** Whether the index still shows the blocks of a head, as it does unless there was a reorganisation. */
async function isStillOfTheChain(parts: AuditParts, head: Head): Promise<boolean> {
  const { view } = await stateNow(parts)
  return view.head.tipHeight >= head.tipHeight && view.isCanonical(head.tipHeight, head.tipHash)
}

/** The rows of a view up to a height: a condition over these columns. */
export function filterUpTo({ head, tail, stale }: ChainView, height: number, column = 'block_hash'): string {
  const hashes = [...tail].filter(([at]) => at <= height).map(([, hash]) => hash)
  return chainFilter(Math.min(head.finalHeight, height), hashes, stale, 'height', column)
}

/** Looks again for a while at what moves by itself, until it is as it must be. */
export async function persisting(
  signal: AbortSignal,
  look: () => Promise<CheckResult>,
): Promise<CheckResult> {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const result = await look()
    if (result.differences.length === 0 || Date.now() > end || signal.aborted) return result
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

const PATIENCE_MS = 10_000
const LOOK_AGAIN_MS = 500
