import { createHash } from 'node:crypto'
import { baseUnits, type NodeBlock, type NodeTx } from './node-json.js'

/** The input that spends an output; its height is null in the mempool. */
export interface NaiveSpender {
  readonly txid: string
  readonly vin: number
  readonly height: number | null
}

export interface NaiveOutput {
  readonly txid: string
  readonly vout: number
  readonly height: number | null
  readonly value: string
  readonly is_coinbase: boolean
}

/** Oracle of what wallets ask for: computed from all blocks of a chain and the mempool, as the node printed them. */
export class NaiveWallet {
  readonly #spenders = new Map<string, NaiveSpender>()
  readonly #outputs = new Map<string, NaiveOutput & { readonly script: string }>()
  /** The block of each transaction of the chain. */
  readonly blockOf = new Map<string, NodeBlock>()

  constructor(blocks: readonly NodeBlock[], mempool: readonly NodeTx[]) {
    for (const block of blocks)
      for (const tx of block.tx) {
        this.blockOf.set(tx.txid, block)
        this.#add(tx, block.height)
      }
    for (const tx of mempool) this.#add(tx, null)
  }

  spender(txid: string, vout: number): NaiveSpender | undefined {
    return this.#spenders.get(`${txid}:${String(vout)}`)
  }

  /** Returns the outputs of a script that nothing spends, unconfirmed ones first, then newest block first, then by txid and vout. */
  unspent(script: string): NaiveOutput[] {
    return [...this.#outputs]
      .filter(([outpoint, output]) => output.script === script && !this.#spenders.has(outpoint))
      .map(([, { script: _, ...output }]) => output)
      .sort(
        (one, other) =>
          (other.height ?? Infinity) - (one.height ?? Infinity) ||
          (one.txid < other.txid ? -1 : one.txid > other.txid ? 1 : one.vout - other.vout),
      )
  }

  #add(tx: NodeTx, height: number | null): void {
    for (const [vin, { txid, vout }] of tx.vin.entries())
      if (txid !== undefined) this.#spenders.set(`${txid}:${String(vout)}`, { txid: tx.txid, vin, height })
    if (height === 0) return
    for (const { n, value, scriptPubKey } of tx.vout) {
      const is_coinbase = tx.vin[0]?.txid === undefined
      const output = { txid: tx.txid, vout: n, height, value: baseUnits(value).toString(), is_coinbase }
      if (!scriptPubKey.hex.startsWith('6a'))
        this.#outputs.set(`${tx.txid}:${String(n)}`, { ...output, script: scriptPubKey.hex })
    }
  }
}

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()

/** Hashes a txid with the hashes of a proof up to the merkle root. All in display order. */
export function rootOfProof(txid: string, index: number, merkle: readonly string[]): string {
  let hash: Buffer = Buffer.from(txid, 'hex').reverse()
  for (const [level, other] of merkle.entries()) {
    const sibling = Buffer.from(other, 'hex').reverse()
    const isRight = ((index >> level) & 1) === 1
    hash = sha256(sha256(Buffer.concat(isRight ? [sibling, hash] : [hash, sibling])))
  }
  return Buffer.from(hash).reverse().toString('hex')
}
