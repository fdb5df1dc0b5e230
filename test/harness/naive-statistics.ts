import { baseUnits, type NodeBlock, type NodeInput, type NodeTx } from './node-json.js'

/** Oracles of the statistics: counted over a chain's blocks as the node printed them, without regard to speed. */

export const dateOfBlock = (block: NodeBlock): string =>
  new Date(block.time * 1000).toISOString().slice(0, 10)

export interface NaiveDay {
  readonly date: string
  readonly block_count: number
  readonly tx_count: number
  readonly total_fees: string
  readonly total_output: string
  readonly active_addresses: number
  readonly new_addresses: number
  readonly dilithiumTransactions: number
  /** Addresses used up to the day's highest block. */
  readonly totalAddresses: number
  /** Sum of the work. */
  readonly work: bigint
}

const spendable = (script: string): boolean => !script.startsWith('6a') && script.length <= 20_000

function addressesOf(block: NodeBlock): Set<string> {
  const found = new Set<string>()
  for (const tx of block.tx) {
    for (const { prevout } of tx.vin)
      if (prevout?.scriptPubKey.address !== undefined) found.add(prevout.scriptPubKey.address)
    // The output of block 0 is not in the UTXO set.
    if (block.height === 0) continue
    for (const { scriptPubKey } of tx.vout)
      if (scriptPubKey.address !== undefined && spendable(scriptPubKey.hex)) found.add(scriptPubKey.address)
  }
  return found
}

const spentBy = (tx: NodeTx): bigint =>
  tx.vin.reduce((sum, { prevout }) => sum + (prevout === undefined ? 0n : baseUnits(prevout.value)), 0n)
const outputOf = (tx: NodeTx): bigint => tx.vout.reduce((sum, { value }) => sum + baseUnits(value), 0n)
const isCoinbase = (tx: NodeTx): boolean => tx.vin[0]?.coinbase !== undefined

/** Newest first. */
export function naiveDays(blocks: readonly NodeBlock[]): NaiveDay[] {
  const seen = new Set<string>()
  const days = new Map<
    string,
    { blocks: NodeBlock[]; active: Set<string>; fresh: number; seen: number; work: bigint }
  >()
  for (const [height, block] of blocks.entries()) {
    const day = days.get(dateOfBlock(block)) ?? { blocks: [], active: new Set(), fresh: 0, seen: 0, work: 0n }
    days.set(dateOfBlock(block), day)
    day.blocks.push(block)
    for (const address of addressesOf(block)) {
      day.active.add(address)
      if (!seen.has(address)) day.fresh++
      seen.add(address)
    }
    day.seen = seen.size
    const before = height === 0 ? 0n : BigInt(`0x${blocks[height - 1]?.chainwork ?? ''}`)
    day.work += BigInt(`0x${block.chainwork}`) - before
  }
  return [...days]
    .map(([date, day]) => {
      const txs = day.blocks.flatMap((block) => block.tx)
      const paying = txs.filter((tx) => !isCoinbase(tx))
      const output = paying.reduce((sum, tx) => sum + outputOf(tx), 0n)
      return {
        date,
        block_count: day.blocks.length,
        tx_count: txs.length,
        total_fees: (paying.reduce((sum, tx) => sum + spentBy(tx), 0n) - output).toString(),
        total_output: output.toString(),
        active_addresses: day.active.size,
        new_addresses: day.fresh,
        dilithiumTransactions: txs.filter(isDilithium).length,
        totalAddresses: day.seen,
        work: day.work,
      }
    })
    .sort((one, other) => (one.date < other.date ? 1 : -1))
}

const SIGNATURES = [2420, 2421]

/**
 * Returns whether an input carries a Dilithium signature, judged by the sizes of its pushes, and by the end of the leaf of a P2MR
 * spend or of the script of a P2WSH spend.
 */
export function hasSpentDilithium({ scriptSig, txinwitness = [], prevout }: NodeInput): boolean {
  const sizes = txinwitness.map((item) => item.length / 2)
  if (prevout?.scriptPubKey.hex.startsWith('5220') === true) return (txinwitness.at(-2) ?? '').endsWith('bb')
  if (sizes.some((size, at) => SIGNATURES.includes(size) && sizes[at + 1] === 1312)) return true
  const hasScript = /b[b-e]$/.test(txinwitness.at(-1) ?? '')
  if (hasScript && sizes.slice(0, -1).some((size) => SIGNATURES.includes(size))) return true
  return /^4d7[45]09/.test(scriptSig?.hex ?? '')
}

export const isDilithium = (tx: NodeTx): boolean => tx.vin.some(hasSpentDilithium)

export interface NaiveOpReturn {
  readonly txid: string
  readonly vout: number
  readonly block_height: number
  readonly data_hex: string
  readonly data_text: string | null
}

/** Newest first. The recording's payloads are one push each. */
export function naiveOpReturns(blocks: readonly NodeBlock[]): NaiveOpReturn[] {
  const found: NaiveOpReturn[] = []
  for (const { height, tx } of blocks) {
    for (const each of tx) {
      for (const { n, scriptPubKey } of each.vout) {
        const { hex } = scriptPubKey
        if (!hex.startsWith('6a') || (isCoinbase(each) && hex.startsWith('6a24aa21a9ed'))) continue
        const first = Number.parseInt(hex.slice(2, 4), 16)
        const data_hex = hex.slice(first === 0x4d ? 8 : first === 0x4c ? 6 : 4)
        const text = Buffer.from(data_hex, 'hex').toString('utf8')
        const isText = Buffer.from(text).toString('hex') === data_hex && /^\P{Cc}+$/u.test(text)
        const data_text = isText ? text : null
        found.push({ txid: each.txid, vout: n, block_height: height, data_hex, data_text })
      }
    }
  }
  return found.reverse()
}

/** Returns the amount that a transaction takes from its owners; undefined for a coinbase. */
export function naiveMoved(tx: NodeTx): bigint | undefined {
  if (isCoinbase(tx)) return undefined
  const owners = new Set(tx.vin.map(({ prevout }) => prevout?.scriptPubKey.hex))
  return tx.vout
    .filter(({ scriptPubKey }) => !owners.has(scriptPubKey.hex))
    .reduce((sum, { value }) => sum + baseUnits(value), 0n)
}

/** Returns mining pools of the newest `window` blocks, identified by the largest payout to an address of a mining pool, then by tag. */
export function naivePools(
  blocks: readonly NodeBlock[],
  window: number,
  pools: readonly {
    readonly name: string
    readonly addresses: readonly string[]
    readonly tags: readonly string[]
  }[],
): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { tx } of blocks.slice(-window)) {
    const payouts = [...(tx[0]?.vout ?? [])]
      .filter(({ value, scriptPubKey: { address } }) => baseUnits(value) > 0n && address !== undefined)
      .sort((one, other) => Number(baseUnits(other.value) - baseUnits(one.value)))
      .map(({ scriptPubKey: { address = '' } }) => address)
    const text = Buffer.from(tx[0]?.vin[0]?.coinbase ?? '', 'hex')
      .toString('latin1')
      .toLowerCase()
    const pool =
      payouts.flatMap((payee) => pools.find(({ addresses }) => addresses.includes(payee)) ?? [])[0] ??
      pools.find(({ tags }) => tags.some((tag) => text.includes(tag.toLowerCase())))
    counts[pool?.name ?? 'Unknown'] = (counts[pool?.name ?? 'Unknown'] ?? 0) + 1
  }
  return counts
}
