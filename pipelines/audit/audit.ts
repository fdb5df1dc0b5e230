import type { BlockId } from '../chain/block.js'
import { coded, StartRefused } from '../errors.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_INVALID_PARAMETER, RPC_NOT_FOUND } from '../node/errors.js'
import { chainTagFilter, ChainView, loadChainView, MissingBlock } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { type Head, latestHead } from '../tables/head.js'
import { newestFence } from '../tables/writers.js'

/** A difference between the index and the expected value. Amounts are in base units. */
export interface Difference {
  /** The subject: a block, an address, a day. */
  readonly what: string
  readonly indexed: string
  /** The node's value, or a value computed from other rows of the index. */
  readonly expected: string
}

export interface CheckResult {
  readonly name: string
  /** The number of blocks, scripts, days or transactions that were checked. */
  readonly checked: number
  readonly differences: readonly Difference[]
  /** The number of further differences, which are not listed. */
  readonly unnamed: number
}

export interface AuditReport {
  readonly tip: BlockId
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
  /** Milliseconds for which the tip and the mempool, which change all the time, may differ. Ten seconds by default. */
  readonly patienceMs?: number
}

type Patience = Pick<AuditParts, 'signal' | 'patienceMs'>

/** The input of a check: one state of the index, and the sources to compare it with. */
export interface AuditContext extends AuditParts {
  readonly head: Head
  readonly view: ChainView
  /** The number of blocks and of scripts in a sample. */
  readonly sample: number
  /** Determines the content of a sample. */
  readonly seed: string
  readonly progress: (done: number, total: number) => void
}

/** Collects the differences that a check finds: lists the first ones and counts the rest. */
export class Findings {
  readonly differences: Difference[] = []
  unnamed = 0
  checked = 0

  /** Adds a difference if the two values differ as strings. */
  expect(what: string, indexed: unknown, expected: unknown): void {
    const [is, must] = [String(indexed), String(expected)]
    if (is === must) return
    if (this.differences.length < MAX_NAMED) this.differences.push({ what, indexed: is, expected: must })
    else this.unnamed++
  }

  get isSound(): boolean {
    return this.differences.length === 0
  }
}

/** The maximum number of listed differences per check: enough to find the error, and bounded if everything is wrong. */
const MAX_NAMED = 1_000

export type Check = (context: AuditContext, findings: Findings) => Promise<void>

/** The index is empty, so there is nothing to audit yet. */
export class NothingIndexed extends coded('HW_NOTHING_INDEXED', StartRefused) {}

export interface AuditOptions {
  readonly sample: number
  readonly seed: string
  readonly checks: Readonly<Record<string, Check>>
  /** Called as a check advances. */
  readonly progress?: (check: string, done: number, total: number) => void
}

/** The maximum number of runs of a check whose state left the chain while it ran. */
const MAX_TRIES = 5
const PATIENCE_MS = 10_000
const LOOK_AGAIN_MS = 500

/**
 * Runs the checks in sequence, each on the newest state of the index. If the index or the node reorganises meanwhile, the
 * check is repeated.
 * @throws NothingIndexed; DatabaseUnavailable if ClickHouse is unavailable; NodeFaultError if the node is.
 */
export async function audit(parts: AuditParts, options: AuditOptions): Promise<AuditReport> {
  const checks: CheckResult[] = []
  let tip = { height: -1, hash: '' }
  let isApart = false
  for (const [name, check] of Object.entries(options.checks)) {
    for (let tries = 1; ; tries++) {
      const fence = await newestFence(parts.db)
      const { head, view } = await stateNow(parts)
      const progress = (done: number, total: number): void => options.progress?.(name, done, total)
      const { sample, seed } = options
      const result = await findingsOf(check, { ...parts, head, view, sample, seed, progress })
      tip = { height: head.tipHeight, hash: head.tipHash }
      if (!result.isSound && tries < MAX_TRIES && !isApart) {
        // With a newer writer, rows of two branches may have been summed.
        const now = (await newestFence(parts.db)) === fence ? await stateOf(parts, head) : 'moved'
        if (now === 'moved') continue
        isApart = now === 'apart'
      }
      const { checked, differences, unnamed } = result
      checks.push({ name, checked, differences, unnamed })
      break
    }
  }
  const differences = checks.reduce((sum, check) => sum + check.differences.length + check.unnamed, 0)
  return { tip, seed: options.seed, checks, differences }
}

/** Runs a check. If the node does not have a requested block, that is the only difference. */
async function findingsOf(check: Check, context: AuditContext): Promise<Findings> {
  const [findings, unknown] = [new Findings(), new Findings()]
  try {
    await check(context, findings)
    return findings
  } catch (error) {
    if (!isRpcError(error, RPC_NOT_FOUND, RPC_INVALID_PARAMETER)) throw error
    unknown.expect('a block requested from the node', 'present', error.message)
    return unknown
  }
}

async function stateNow(parts: AuditParts): Promise<{ head: Head; view: ChainView }> {
  const head = await latestHead(parts.db)
  if (head === undefined || head.tipHeight < 0) throw new NothingIndexed('the index is empty')
  return { head, view: await viewOf(parts, head) }
}

/** Loads the view of a head. If a block is missing in the tables, the tail is read from the node, so that the rest can be checked. */
async function viewOf({ db, node, signal }: AuditParts, head: Head): Promise<ChainView> {
  try {
    return await loadChainView(db, head)
  } catch (error) {
    if (!(error instanceof MissingBlock)) throw error
    const from = head.finalHeight + 1
    const hashes = await node.blockHashes(from, head.tipHeight - head.finalHeight, signal)
    return new ChainView(head, new Map(hashes.map((hash, at) => [from + at, hash])), new Map())
  }
}

/**
 * Compares a head with the current state: `moved` if the index has left its chain, or the node has and the index follows; `apart`
 * if the index does not follow.
 */
async function stateOf(parts: AuditParts, head: Head): Promise<'same' | 'moved' | 'apart'> {
  const { view } = await stateNow(parts)
  if (view.head.tipHeight < head.tipHeight || !view.isCanonical(head.tipHeight, head.tipHash)) return 'moved'
  if (await isOfNode(parts, { height: head.tipHeight, hash: head.tipHash })) return 'same'
  const follows = await patiently(parts, async () => {
    const now = (await stateNow(parts)).head
    return isOfNode(parts, { height: now.tipHeight, hash: now.tipHash })
  })
  return follows ? 'moved' : 'apart'
}

/** Returns whether a block is part of the current chain of the node. */
export async function isOfNode(
  { node, signal }: Pick<AuditParts, 'node' | 'signal'>,
  { height, hash }: BlockId,
): Promise<boolean> {
  return (await node.hashAt(height, signal)) === hash
}

/** Waits until the index contains a block of the node. @returns the view, undefined if it does not in time or the block leaves the node's chain. */
export async function shownWith(parts: AuditParts, block: BlockId): Promise<ChainView | undefined> {
  let last: ChainView | undefined
  await patiently(parts, async () => {
    const { view } = await stateNow(parts)
    if (view.head.tipHeight >= block.height && view.isCanonical(block.height, block.hash)) last = view
    return last !== undefined || !(await isOfNode(parts, block))
  })
  return last
}

/** Repeats a test until it succeeds or the patience is over. @returns whether it has succeeded. */
async function patiently(
  { signal, patienceMs = PATIENCE_MS }: Patience,
  test: () => Promise<boolean>,
): Promise<boolean> {
  for (const end = Date.now() + patienceMs; ;) {
    if (await test()) return true
    if (Date.now() > end || signal.aborted) return false
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

/** Returns an SQL condition for the rows of a view up to a height. */
export function filterUpTo({ head, tail, stale }: ChainView, height: number): string {
  const above = [...tail].filter(([at]) => at <= height)
  return chainTagFilter(Math.min(head.finalHeight, height), above, stale)
}

/**
 * Repeats a comparison of something that changes all the time until there is no difference or the patience is over. Each run
 * collects its own findings and receives the previous run's findings. Only the findings of the last run count.
 */
export async function persisting(
  patience: Patience,
  findings: Findings,
  compare: (findings: Findings, before: Findings | undefined) => Promise<void>,
): Promise<void> {
  let last: Findings | undefined
  const again = async (): Promise<boolean> => {
    const next = new Findings()
    await compare(next, last)
    last = next
    return next.isSound
  }
  if (!(await again())) await patiently(patience, again)
  findings.checked += last?.checked ?? 0
  for (const { what, indexed, expected } of last?.differences ?? []) findings.expect(what, indexed, expected)
}
