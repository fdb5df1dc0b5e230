import { baseUnits, type NodeBlock, type NodeTx } from './node-json.js'
import { naiveMoved } from './naive-statistics.js'

/** A hook of a test, with scripts in hexadecimal. */
export interface Watched {
  readonly id: string
  readonly scripts: readonly string[]
  readonly txids: readonly string[]
  readonly minValue?: bigint
  readonly reorgs: boolean
  readonly confirmations: readonly number[]
}

/** Returns what a transaction does to the watched scripts: `script:received:sent`, sorted; undefined if the hook does not watch it. */
function touchedBy(hook: Watched, tx: NodeTx): string | undefined {
  const touched = hook.scripts.flatMap((script) => {
    const outputs = tx.vout.filter(({ scriptPubKey }) => scriptPubKey.hex === script)
    const inputs = tx.vin.filter(({ prevout }) => prevout?.scriptPubKey.hex === script)
    if (outputs.length + inputs.length === 0) return []
    const received = outputs.reduce((sum, { value }) => sum + baseUnits(value), 0n)
    const sent = inputs.reduce((sum, { prevout }) => sum + baseUnits(prevout!.value), 0n)
    return `${script}:${String(received)}:${String(sent)}`
  })
  const moved = naiveMoved(tx)
  const isLarge = hook.minValue !== undefined && moved !== undefined && moved >= hook.minValue
  if (touched.length === 0 && !hook.txids.includes(tx.txid) && !isLarge) return undefined
  return [...touched.sort(), String(moved ?? 0n)].join(' ')
}

/** Computes the events of hooks from the blocks and mempools of the node, one line each. */
export class NaiveWebhooks {
  /** The lines of each step. */
  readonly steps: string[][] = []
  /** The confirmations that were reported and not undone, as hook, txid and block. */
  readonly #reported = new Set<string>()
  /** The unconfirmed transactions that were reported, as hook and txid. */
  readonly #seen = new Set<string>()
  readonly #hooks: Watched[] = []
  #blocks: readonly NodeBlock[] = []
  #mempool: ReadonlyMap<string, NodeTx> = new Map()

  /** Registers a hook in the present state. */
  register(hook: Watched): void {
    this.#hooks.push(hook)
    const lines: string[] = []
    for (const [at] of this.#blocks.entries())
      for (const line of this.#confirmed(hook, this.#blocks, at, (tx) => hook.txids.includes(tx.txid)))
        lines.push(line)
    for (const tx of this.#mempool.values()) lines.push(...this.#see(hook, tx))
    this.steps.push(lines)
  }

  /** Adds the events of the change to a state that was observed. */
  step(blocks: readonly NodeBlock[], mempool: ReadonlyMap<string, NodeTx>): void {
    const lines: string[] = []
    const hashes = new Set(blocks.map(({ hash }) => hash))
    const before = new Set(this.#blocks.map(({ hash }) => hash))
    const disconnected = this.#blocks.filter(({ hash }) => !hashes.has(hash)).reverse()
    const confirmed = new Set(blocks.flatMap(({ tx }) => tx.map(({ txid }) => txid)))
    for (const hook of this.#hooks) {
      if (hook.reorgs && disconnected.length > 0)
        lines.push(`${hook.id} reorganisation ${String(disconnected.length)} ${String(blocks.at(-1)?.hash)}`)
      for (const { hash, tx } of disconnected)
        for (const { txid } of tx)
          if (this.#reported.delete(`${hook.id} ${txid} ${hash}`))
            lines.push(`${hook.id} unconfirmed ${txid} ${hash}`)
      for (const [at, { hash }] of blocks.entries())
        if (!before.has(hash)) lines.push(...this.#confirmed(hook, blocks, at, () => true))
      for (const txid of this.#mempool.keys())
        if (!mempool.has(txid) && this.#seen.delete(`${hook.id} ${txid}`) && !confirmed.has(txid))
          lines.push(`${hook.id} dropped ${txid}`)
      for (const [txid, tx] of mempool) if (!this.#mempool.has(txid)) lines.push(...this.#see(hook, tx))
    }
    this.#blocks = blocks
    this.#mempool = mempool
    this.steps.push(lines)
  }

  /** Returns the confirmations that the block at an index adds. */
  #confirmed(
    hook: Watched,
    blocks: readonly NodeBlock[],
    at: number,
    isWanted: (tx: NodeTx) => boolean,
  ): string[] {
    return hook.confirmations.flatMap((level) => {
      const block = level === 0 ? undefined : blocks[at - level + 1]
      return (block?.tx ?? []).filter(isWanted).flatMap((tx) => {
        const touched = touchedBy(hook, tx)
        if (block === undefined || touched === undefined) return []
        this.#reported.add(`${hook.id} ${tx.txid} ${block.hash}`)
        return `${hook.id} confirmed ${tx.txid} ${block.hash} ${String(level)} at ${blocks[at]!.hash} ${touched}`
      })
    })
  }

  #see(hook: Watched, tx: NodeTx): string[] {
    const isPaid = tx.vout.some(({ scriptPubKey }) => hook.scripts.includes(scriptPubKey.hex))
    if (!hook.confirmations.includes(0) || !(isPaid || hook.txids.includes(tx.txid))) return []
    this.#seen.add(`${hook.id} ${tx.txid}`)
    return [`${hook.id} seen ${tx.txid}`]
  }
}

interface Payload {
  readonly type: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read payloads as a receiver would
  readonly data: any
}

/** Returns the line of a received payload. */
export function lineOf(body: string): string {
  const { type, data } = JSON.parse(body) as Payload
  const { hook, txid, block } = data
  switch (type) {
    case 'transaction.confirmed': {
      const scripts = (data.scripts as { script: string; received: string; sent: string }[])
        .map(({ script, received, sent }) => `${script}:${received}:${sent}`)
        .sort()
      const touched = [...scripts, data.moved].join(' ')
      return `${hook} confirmed ${txid} ${block.hash} ${data.confirmations} at ${data.tip.hash} ${touched}`
    }
    case 'transaction.unconfirmed':
      return `${hook} unconfirmed ${txid} ${block.hash}`
    case 'transaction.seen':
      return `${hook} seen ${txid}`
    case 'transaction.dropped':
      return `${hook} dropped ${txid}`
    case 'reorg':
      return `${hook} reorganisation ${data.depth} ${data.tip.hash}`
    default:
      return `unknown type ${type}`
  }
}
