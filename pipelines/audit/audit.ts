import type { BlockId } from '../chain/block.js'
import { coded, StartRefused } from '../errors.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_INVALID_PARAMETER, RPC_NOT_FOUND } from '../node/errors.js'
import { chainFilter, ChainView, loadChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { type Head, latestHead } from '../tables/head.js'
import { newestFence } from '../tables/writers.js'

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
  /** How many more there are than are named. */
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
  /** Milliseconds; what moves by itself, the tip and the mempool, counts when it differs for longer. Left out: ten seconds. */
  readonly patienceMs?: number
}

type Patience = Pick<AuditParts, 'signal' | 'patienceMs'>

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
  readonly differences: Difference[] = []
  unnamed = 0
  checked = 0

  /** Notes a difference, unless there is none. */
  expect(what: string, indexed: unknown, expected: unknown): void {
    const [is, must] = [String(indexed), String(expected)]
    if (is === must) return
    if (this.differences.length < MOST_NAMED) this.differences.push({ what, indexed: is, expected: must })
    else this.unnamed++
  }

  get isSound(): boolean {
    return this.differences.length === 0
  }
}

/** Of a check: enough for whoever mends them, and no gigabyte where all is wrong. */
const MOST_NAMED = 1_000

export type Check = (context: AuditContext, found: Findings) => Promise<void>

/** There is nothing to audit yet. */
export class NothingIndexed extends coded('HW_NOTHING_INDEXED', StartRefused) {}

export interface AuditOptions {
  readonly sample: number
  readonly seed: string
  readonly checks: Readonly<Record<string, Check>>
  /** Told as a check goes on. */
  readonly progress?: (check: string, done: number, total: number) => void
}

/** Times that a check is made again whose state left the chain while it ran. */
const MOST_TRIES = 5
const PATIENCE_MS = 10_000
const LOOK_AGAIN_MS = 500

/**
 * Makes the checks one after the other, each on one state of the index: the newest. Where a reorganisation comes meanwhile, to
 * the index or to the node, the check is made again.
 * @throws NothingIndexed; DatabaseUnavailable, NodeFaultError where one cannot be asked.
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
      const found = await findingsOf(check, { ...parts, head, view, sample, seed, progress })
      tip = { height: head.tipHeight, hash: head.tipHash }
      if (!found.isSound && tries < MOST_TRIES && !isApart) {
        // Under a newer writer rows of two branches may have been added up.
        const now = (await newestFence(parts.db)) === fence ? await stateOf(parts, head) : 'moved'
        if (now === 'moved') continue
        isApart = now === 'apart'
      }
      const { checked, differences, unnamed } = found
      checks.push({ name, checked, differences, unnamed })
      break
    }
  }
  const differences = checks.reduce((sum, check) => sum + check.differences.length + check.unnamed, 0)
  return { tip, seed: options.seed, checks, differences }
}

/** Makes a check. That the node does not have a block that it asks for is a difference, and ends it. */
async function findingsOf(check: Check, context: AuditContext): Promise<Findings> {
  const [found, unknown] = [new Findings(), new Findings()]
  try {
    await check(context, found)
    return found
  } catch (error) {
    if (!isRpcError(error, RPC_NOT_FOUND, RPC_INVALID_PARAMETER)) throw error
    unknown.expect('a block requested from the node', 'there', error.message)
    return unknown
  }
}

async function stateNow(parts: AuditParts): Promise<{ head: Head; view: ChainView }> {
  const head = await latestHead(parts.db)
  if (head === undefined || head.tipHeight < 0) throw new NothingIndexed('the index is empty')
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

/**
 * What has become of a head: `moved` where the index has left its chain, or the node has and the index followed; `apart` where
 * it does not follow.
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

/** Whether a block is of the node's chain, as it is now. */
export async function isOfNode(
  { node, signal }: Pick<AuditParts, 'node' | 'signal'>,
  { height, hash }: BlockId,
): Promise<boolean> {
  return (await node.hashAt(height, signal)) === hash
}

/** The index as soon as it shows a block of the node; nothing where it does not for a while, or the node leaves the block. */
export async function shownWith(parts: AuditParts, block: BlockId): Promise<ChainView | undefined> {
  let shown: ChainView | undefined
  await patiently(parts, async () => {
    const { view } = await stateNow(parts)
    if (view.head.tipHeight >= block.height && view.isCanonical(block.height, block.hash)) shown = view
    return shown !== undefined || !(await isOfNode(parts, block))
  })
  return shown
}

/** Looks until something is so, for a while. @returns whether it is. */
async function patiently(
  { signal, patienceMs = PATIENCE_MS }: Patience,
  look: () => Promise<boolean>,
): Promise<boolean> {
  for (const end = Date.now() + patienceMs; ;) {
    if (await look()) return true
    if (Date.now() > end || signal.aborted) return false
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

/** The rows of a view up to a height: a condition over these columns. */
export function filterUpTo({ head, tail, stale }: ChainView, height: number, column = 'block_hash'): string {
  const hashes = [...tail].filter(([at]) => at <= height).map(([, hash]) => hash)
  return chainFilter(Math.min(head.finalHeight, height), hashes, stale, 'height', column)
}

/**
 * Looks again for a while at what moves by itself, until it is as it must be. Each look gathers its own findings, of which the
 * last ones count, and has those of the look before.
 */
export async function persisting(
  patience: Patience,
  found: Findings,
  look: (found: Findings, before: Findings | undefined) => Promise<void>,
): Promise<void> {
  let last: Findings | undefined
  const again = async (): Promise<boolean> => {
    const next = new Findings()
    await look(next, last)
    last = next
    return next.isSound
  }
  if (!(await again())) await patiently(patience, again)
  found.checked += last?.checked ?? 0
  for (const { what, indexed, expected } of last?.differences ?? []) found.expect(what, indexed, expected)
}
