import { createHash } from 'node:crypto'
import { baseUnits, type NodeBlock, type NodeTx } from './node-json.js'

/** The place of a transaction in the chain. */
interface Place {
  readonly block: NodeBlock
  readonly index: number
  readonly tx: NodeTx
}

type Json = Readonly<Record<string, unknown>>

const UNCONFIRMED = { confirmed: false }
const isSpendable = (script: string): boolean => !script.startsWith('6a') && script.length <= 20_000

/**
 * Oracle of Esplora's answers: the simplest possible computation from the blocks of a chain and the mempool, as the node printed them.
 * Transactions are without the fields that write scripts as opcodes.
 */
export class NaiveEsplora {
  /** The places of each txid, highest first: a coinbase may be in several blocks. */
  readonly #places = new Map<string, Place[]>()
  readonly #unconfirmed: ReadonlyMap<string, NodeTx>
  /** The inputs that spend an output, last one first. */
  readonly #spenders = new Map<string, { txid: string; vin: number; block?: NodeBlock }[]>()

  readonly mempool: readonly NodeTx[]

  /** @param mempool the node prints its transactions without the outputs that they spend. */
  constructor(
    readonly blocks: readonly NodeBlock[],
    mempool: readonly NodeTx[],
  ) {
    const outputs = outputsOf([...blocks.flatMap(({ tx }) => tx), ...mempool])
    this.mempool = mempool.map((tx) => withPrevouts(tx, outputs))
    this.#unconfirmed = new Map(this.mempool.map((tx) => [tx.txid, tx]))
    for (const block of blocks)
      for (const [index, tx] of block.tx.entries()) {
        this.#places.set(tx.txid, [{ block, index, tx }, ...(this.#places.get(tx.txid) ?? [])])
        this.#spend(tx, block)
      }
    for (const tx of this.mempool) this.#spend(tx)
  }

  #spend(tx: NodeTx, block?: NodeBlock): void {
    for (const [vin, { txid, vout }] of tx.vin.entries()) {
      if (txid === undefined) continue
      const outpoint = `${txid}:${String(vout)}`
      const spender = { txid: tx.txid, vin, ...(block === undefined ? {} : { block }) }
      this.#spenders.set(outpoint, [spender, ...(this.#spenders.get(outpoint) ?? [])])
    }
  }

  status(txid: string): Json {
    const [place] = this.#places.get(txid) ?? []
    return place === undefined ? UNCONFIRMED : confirmed(place.block)
  }

  /** Returns a transaction; undefined if it is unknown. */
  tx(txid: string): Json | undefined {
    const [place] = this.#places.get(txid) ?? []
    const tx = this.#unconfirmed.get(txid) ?? place?.tx
    return tx === undefined ? undefined : { ...txJson(tx), status: this.status(txid) }
  }

  /** Returns the spends of the outputs of a transaction, as of its highest block. */
  outspends(txid: string): Json[] {
    const [place] = this.#places.get(txid) ?? []
    const tx = this.#unconfirmed.get(txid) ?? place?.tx
    return (tx?.vout ?? []).map(({ n }) => {
      const spender = this.#spenderOf(txid, n, place?.block.height ?? -1)
      if (spender === undefined) return { spent: false }
      const { block, vin } = spender
      const status = block === undefined ? UNCONFIRMED : confirmed(block)
      return { spent: true, txid: spender.txid, vin, status }
    })
  }

  /** Returns the last input that spends an output and is not below the block that created the output. */
  #spenderOf(txid: string, vout: number, height: number) {
    const spenders = this.#spenders.get(`${txid}:${String(vout)}`) ?? []
    return spenders.find(({ block }) => block === undefined || block.height >= height)
  }

  /** Returns the txids of a script's transactions in the chain, newest first; of a repeated coinbase the last place alone. */
  history(script: string): string[] {
    return this.blocks
      .toReversed()
      .flatMap(({ tx: txs, height }) =>
        txs
          .toReversed()
          .filter((tx) => touches(tx, script) && this.#places.get(tx.txid)?.[0]?.block.height === height),
      )
      .map(({ txid }) => txid)
  }

  /** Returns the txids of a script's unconfirmed transactions, in any order. */
  unconfirmed(script: string): string[] {
    return this.mempool.filter((tx) => touches(tx, script)).map(({ txid }) => txid)
  }

  /** Returns the unspent outputs of a script in chain and mempool, by outpoint. */
  utxo(script: string): Json[] {
    const places = [...this.#places.values()].flatMap(([highest]) => (highest === undefined ? [] : [highest]))
    const all = [
      ...places.map(({ tx, block }) => ({ tx, block })),
      ...this.mempool.map((tx) => ({ tx, block: undefined })),
    ]
    return all
      .filter(({ block }) => block?.height !== 0)
      .flatMap(({ tx, block }) =>
        tx.vout
          .filter(({ scriptPubKey, n }) => {
            const isUnspent = this.#spenderOf(tx.txid, n, block?.height ?? -1) === undefined
            return scriptPubKey.hex === script && isSpendable(script) && isUnspent
          })
          .map(({ n, value }) => ({
            txid: tx.txid,
            vout: n,
            status: block === undefined ? UNCONFIRMED : confirmed(block),
            value: Number(baseUnits(value)),
          })),
      )
      .toSorted(byOutpoint)
  }

  /** Returns the totals of a script, without what block 0 pays: it is in no set of outputs. */
  stats(script: string): { readonly chain_stats: Json; readonly mempool_stats: Json } {
    const chain = this.blocks.filter(({ height }) => height > 0).flatMap(({ tx }) => tx)
    return { chain_stats: statsOf(chain, script), mempool_stats: statsOf(this.mempool, script) }
  }

  /** Returns the hash by which Esplora names a script. */
  static hashOf(script: string): string {
    return createHash('sha256').update(Buffer.from(script, 'hex')).digest('hex')
  }
}

type Outputs = ReadonlyMap<string, NodeTx['vout'][number]>

const outputsOf = (txs: readonly NodeTx[]): Outputs =>
  new Map(txs.flatMap(({ txid, vout }) => vout.map((each) => [`${txid}:${String(each.n)}`, each] as const)))

function withPrevouts(tx: NodeTx, outputs: Outputs): NodeTx {
  const vin = tx.vin.map((input) => {
    const output = outputs.get(`${String(input.txid)}:${String(input.vout)}`)
    return output === undefined ? input : { ...input, prevout: { ...output, height: 0 } }
  })
  const sum = (coins: readonly ({ readonly value: number } | undefined)[]): bigint =>
    coins.reduce((total, coin) => total + baseUnits(coin?.value ?? 0), 0n)
  return { ...tx, vin, fee: Number(sum(vin.map(({ prevout }) => prevout)) - sum(tx.vout)) / 1e8 }
}

/** Compares outputs by their outpoints. */
export function byOutpoint(one: object, other: object): number {
  const keyOf = (output: object): string => {
    const { txid, vout } = output as { readonly txid: string; readonly vout: number }
    return `${txid} ${String(vout).padStart(10, '0')}`
  }
  return keyOf(one) < keyOf(other) ? -1 : 1
}

const confirmed = ({ height, hash, time }: NodeBlock): Json => ({
  confirmed: true,
  block_height: height,
  block_hash: hash,
  block_time: time,
})

const touches = ({ vin, vout }: NodeTx, script: string): boolean =>
  isSpendable(script) &&
  (vin.some(({ prevout }) => prevout?.scriptPubKey.hex === script) ||
    vout.some(({ scriptPubKey }) => scriptPubKey.hex === script))

function statsOf(txs: readonly NodeTx[], script: string): Json {
  const own = txs.filter((tx) => touches(tx, script))
  const funded = own.flatMap(({ vout }) => vout.filter(({ scriptPubKey }) => scriptPubKey.hex === script))
  const spent = own.flatMap(({ vin }) =>
    vin.flatMap(({ prevout }) => (prevout?.scriptPubKey.hex === script ? [prevout] : [])),
  )
  const sum = (coins: readonly { readonly value: number }[]): number =>
    Number(coins.reduce((total, { value }) => total + baseUnits(value), 0n))
  return {
    funded_txo_count: funded.length,
    funded_txo_sum: sum(funded),
    spent_txo_count: spent.length,
    spent_txo_sum: sum(spent),
    tx_count: own.length,
  }
}

function txJson(tx: NodeTx): Json {
  const isCoinbase = tx.vin[0]?.txid === undefined
  const outputJson = ({
    value,
    scriptPubKey,
  }: Omit<NodeTx['vout'][number], 'n'> | NonNullable<NodeTx['vin'][number]['prevout']>) => ({
    scriptpubkey: scriptPubKey.hex,
    ...(scriptPubKey.address === undefined ? {} : { scriptpubkey_address: scriptPubKey.address }),
    value: Number(baseUnits(value)),
  })
  const { version, locktime, weight } = tx as unknown as Readonly<
    Record<'version' | 'locktime' | 'weight', number>
  >
  return {
    txid: tx.txid,
    version,
    locktime,
    size: tx.size,
    weight,
    fee: isCoinbase ? 0 : Number(baseUnits(tx.fee ?? 0)),
    vin: tx.vin.map(({ txid, vout, coinbase, scriptSig, sequence, txinwitness = [], prevout }) => ({
      txid: txid ?? '00'.repeat(32),
      vout: vout ?? 0xffff_ffff,
      prevout: prevout === undefined ? null : outputJson(prevout),
      scriptsig: coinbase ?? scriptSig?.hex,
      sequence,
      is_coinbase: isCoinbase,
      ...(txinwitness.length === 0 ? {} : { witness: txinwitness }),
    })),
    vout: tx.vout.map(outputJson),
  }
}
