import type { Network } from '../chain/networks.js'

/** A transaction, as far as its place in a block depends on it. */
export interface ProjectableTx {
  /** In hexadecimal, or any other form with as many characters for every transaction, in the same order. */
  readonly txid: string
  /** Base units. */
  readonly fee: bigint
  /** Bytes. */
  readonly size: number
  readonly vsize: number
  readonly weight: number
  /** The outputs that it spends: each begins with the txid of its transaction. */
  readonly outpoints: readonly string[]
}

/** The transactions that were added to a projected block together. */
export interface ProjectedPackage {
  readonly fee: bigint
  readonly vsize: number
}

export interface ProjectedBlock {
  readonly txCount: number
  readonly weight: number
  readonly vsize: number
  /** Base units. */
  readonly fees: bigint
  /** By fee rate, lowest first. */
  readonly packages: readonly ProjectedPackage[]
  /** The transactions in their order, each after the ones that it spends from. */
  readonly txs: readonly ProjectableTx[]
}

interface Candidate {
  readonly tx: ProjectableTx
  readonly parents: readonly Candidate[]
  readonly children: Candidate[]
  isTaken: boolean
  /** Sums of the transaction and its ancestors that no block contains yet. */
  fee: bigint
  vsize: number
  weight: number
}

/** A candidate at one of its fee rates; outdated if the candidate has another fee rate by now. */
interface Entry {
  readonly candidate: Candidate
  readonly rate: number
}

const rateOf = ({ fee, vsize }: ProjectedPackage): number => Number(fee) / vsize

/** The number of transactions after which a projection can be interrupted. */
const STEP = 250

/** A projection that is interrupted again and again; its result is the blocks. */
export type Projecting = Generator<undefined, ProjectedBlock[], undefined>

/**
 * Projects blocks from unconfirmed transactions, as a miner would build them: a block takes one package after another, each time the
 * package with the highest fee rate, the lower txid if two are equal. A package is a transaction with its unconfirmed ancestors that no
 * block contains yet. A package that does not fit into the rest of a block begins the next one.
 * @param txs must not change meanwhile.
 * @param maxWeight of the transactions of a block.
 * @param most the maximum number of blocks.
 */
export function* projecting(txs: Iterable<ProjectableTx>, maxWeight: number, most: number): Projecting {
  const queue = new Queue(yield* candidatesOf(txs))
  yield* queue.order()
  const blocks: ProjectedBlock[] = []
  let open = new OpenBlock()
  let sinceBreak = 0
  for (let next = queue.highest(); next !== undefined; next = queue.highest()) {
    if (open.txCount > 0 && open.weight + next.weight > maxWeight) {
      blocks.push(open.close())
      if (blocks.length === most) return blocks
      open = new OpenBlock()
    }
    const members = withAncestors(next)
    open.add(next, members)
    for (const each of members) queue.take(each)
    sinceBreak += members.length
    if (sinceBreak < STEP) continue
    sinceBreak = 0
    yield
  }
  if (open.txCount > 0) blocks.push(open.close())
  return blocks
}

/**
 * Returns the package in which a projection takes each transaction, by txid. The size of blocks does not matter for it, nor do
 * transactions that are not connected to these.
 * @param txs with all their unconfirmed ancestors and descendants.
 */
export function packagesOf(txs: Iterable<ProjectableTx>): Map<string, ProjectedPackage> {
  const queue = new Queue(uninterrupted(candidatesOf(txs)))
  uninterrupted(queue.order())
  const packages = new Map<string, ProjectedPackage>()
  for (let next = queue.highest(); next !== undefined; next = queue.highest()) {
    const { fee, vsize } = next
    const own = { fee, vsize }
    for (const each of withAncestors(next)) {
      packages.set(each.tx.txid, own)
      queue.take(each)
    }
  }
  return packages
}

/** The size that a projected block leaves for header and coinbase, in virtual bytes. */
const RESERVED_VSIZE = 1_000

/** Returns the maximum weight of the transactions of a projected block. */
export const projectedWeight = ({ maxBlockWeight, witnessScale }: Network): number =>
  maxBlockWeight - RESERVED_VSIZE * witnessScale

/** The longest time for which a projection holds up other work, in ms. */
const SLICE_MS = 5

/** Runs what can be interrupted to its end, with other work in between. `tookMs` is the time without that. */
export async function inSlices<T>(
  steps: Generator<undefined, T, undefined>,
): Promise<{ readonly value: T; readonly tookMs: number }> {
  for (let tookMs = 0; ; await new Promise(setImmediate)) {
    const began = performance.now()
    let step = steps.next()
    while (step.done !== true && performance.now() - began < SLICE_MS) step = steps.next()
    tookMs += performance.now() - began
    if (step.done === true) return { value: step.value, tookMs }
  }
}

/** Runs what could be interrupted to its end. */
export function uninterrupted<T>(steps: Generator<undefined, T, undefined>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

class OpenBlock {
  weight = 0
  readonly #txs: ProjectableTx[] = []
  #vsize = 0
  #fees = 0n
  readonly #packages: ProjectedPackage[] = []

  get txCount(): number {
    return this.#txs.length
  }

  add({ fee, vsize, weight }: Candidate, members: readonly Candidate[]): void {
    this.weight += weight
    for (const { tx } of inOrder(members)) this.#txs.push(tx)
    this.#vsize += vsize
    this.#fees += fee
    this.#packages.push({ fee, vsize })
  }

  close(): ProjectedBlock {
    const packages = this.#packages.sort((one, other) => rateOf(one) - rateOf(other))
    const { txCount, weight } = this
    return { txCount, weight, vsize: this.#vsize, fees: this.#fees, packages, txs: this.#txs }
  }
}

/** Returns the members of a package, each after its ancestors, whose sums are smaller than its own. */
const inOrder = (members: readonly Candidate[]): readonly Candidate[] =>
  members.length === 1
    ? members
    : [...members].sort((one, other) => one.vsize - other.vsize || (one.tx.txid < other.tx.txid ? -1 : 1))

function* candidatesOf(txs: Iterable<ProjectableTx>): Generator<undefined, Candidate[], undefined> {
  const byTxid = new Map<string, Candidate>()
  const waiting = new Map<string, ProjectableTx>()
  for (const tx of txs) {
    waiting.set(tx.txid, tx)
    if (waiting.size % STEP === 0) yield
  }
  // Parents first, without recursion: chains may be long.
  for (const start of waiting.values()) {
    const stack = [start]
    for (let tx = stack.at(-1); tx !== undefined; tx = stack.at(-1)) {
      const ids = parentIdsOf(tx, waiting)
      const missing = byTxid.has(tx.txid) ? [] : ids.filter((txid) => !byTxid.has(txid))
      if (missing.length > 0) {
        for (const txid of missing) stack.push(waiting.get(txid) as ProjectableTx)
        continue
      }
      stack.pop()
      if (byTxid.has(tx.txid)) continue
      const parents = ids.map((txid) => byTxid.get(txid) as Candidate)
      const candidate = { tx, parents, children: [], isTaken: false, fee: 0n, vsize: 0, weight: 0 }
      byTxid.set(tx.txid, candidate)
      for (const parent of parents) parent.children.push(candidate)
      for (const each of withAncestors(candidate)) add(candidate, each.tx, 1n, 1)
      if (byTxid.size % STEP === 0) yield
    }
  }
  return [...byTxid.values()]
}

function parentIdsOf({ txid: own, outpoints }: ProjectableTx, all: ReadonlyMap<string, unknown>): string[] {
  const ids = new Set<string>()
  for (const outpoint of outpoints) {
    const txid = outpoint.slice(0, own.length)
    if (all.has(txid)) ids.add(txid)
  }
  return [...ids]
}

function add(
  candidate: Candidate,
  { fee, vsize, weight }: ProjectableTx,
  sign: bigint,
  factor: number,
): void {
  candidate.fee += sign * fee
  candidate.vsize += factor * vsize
  candidate.weight += factor * weight
}

/** Returns a candidate and its ancestors that no block contains yet. */
function withAncestors(candidate: Candidate): Candidate[] {
  if (candidate.parents.length === 0) return [candidate]
  const members = new Set([candidate])
  for (const each of members) for (const parent of each.parents) if (!parent.isTaken) members.add(parent)
  return [...members]
}

/** The candidates by the fee rate of their packages: a binary heap, highest first, with outdated entries. */
class Queue {
  readonly #heap: Entry[]

  constructor(candidates: readonly Candidate[]) {
    this.#heap = candidates.map((candidate) => ({ candidate, rate: rateOf(candidate) }))
  }

  /** Orders the candidates, before anything else. */
  *order(): Generator<undefined, void, undefined> {
    for (let at = this.#heap.length >> 1; at >= 0; at--) {
      this.#sink(at)
      if (at % STEP === 0) yield
    }
  }

  /** Returns the candidate with the highest fee rate, undefined if all are taken. */
  highest(): Candidate | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      const { candidate, rate } = top
      if (!candidate.isTaken && rate === rateOf(candidate)) return candidate
      const last = this.#heap.pop()
      if (last !== undefined && this.#heap.length > 0) {
        this.#heap[0] = last
        this.#sink(0)
      }
    }
    return undefined
  }

  /** Takes a candidate, which no longer counts for the packages of its descendants. */
  take(candidate: Candidate): void {
    candidate.isTaken = true
    const descendants = new Set(candidate.children)
    for (const each of descendants) for (const child of each.children) descendants.add(child)
    for (const each of descendants) {
      if (each.isTaken) continue
      add(each, candidate.tx, -1n, -1)
      this.#push({ candidate: each, rate: rateOf(each) })
    }
  }

  #push(entry: Entry): void {
    let at = this.#heap.push(entry) - 1
    for (let above = (at - 1) >> 1; at > 0; above = (at - 1) >> 1) {
      const parent = this.#heap[above] as Entry
      if (!precedes(entry, parent)) break
      this.#heap[at] = parent
      this.#heap[above] = entry
      at = above
    }
  }

  #sink(from: number): void {
    const heap = this.#heap
    for (let at = from; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let first = at
      for (const child of [left, right])
        if (child < heap.length && precedes(heap[child] as Entry, heap[first] as Entry)) first = child
      if (first === at) return
      const moved = heap[at] as Entry
      heap[at] = heap[first] as Entry
      heap[first] = moved
      at = first
    }
  }
}

function precedes(one: Entry, other: Entry): boolean {
  if (one.rate !== other.rate) return one.rate > other.rate
  return one.candidate.tx.txid < other.candidate.tx.txid
}
