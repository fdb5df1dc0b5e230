import { LRUCache } from 'lru-cache'
import { coinsToBaseUnits } from '../../../../pipelines/chain/amount.js'
import { encodePrevouts, type Prevout } from '../../../../pipelines/chain/prevout.js'
import type { NodeBlockTx } from '../../../../pipelines/node/replies.js'
import { InvalidBlockError, MissingPrevoutError } from '../../../../pipelines/poll/errors.js'
import { type LocatedTx, type TxParts } from '../../../../pipelines/tables/bodies.js'
import { verifiedTx } from '../../../../pipelines/poll/chain/verified-block.js'
import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import type { NodeConnection } from './node-connection.js'

/** The bytes of transactions that are kept in memory, with the outputs that they spend. */
const CACHE_BYTES = 32 * 2 ** 20
/** The memory of a transaction besides its bytes. */
const OVERHEAD_BYTES = 400
/** The number of transactions that one request reads: the node reads the block of each from its disk. */
const AT_ONCE = 16
/** The number of unspent outputs that one request reads. */
const COINS_AT_ONCE = 256
/** The number of transactions of a block from which on the node returns the block, with all of them. */
const WHOLE_BLOCK = 16

type Coin = Omit<Prevout, 'height'>

/**
 * Reads transactions of blocks from the node, with the outputs that they spend: for indexes that do not contain them. A block may be
 * of any branch that the node has had. Every transaction is checked against its txid.
 */
export class NodeBodies {
  readonly #cache = new LRUCache<string, TxParts>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ body, prevouts, witness }) =>
      body.length + prevouts.length + witness.length + OVERHEAD_BYTES,
  })

  constructor(private readonly node: Pick<NodeConnection, 'call'>) {}

  /** Returns all of the transactions, in their order. @throws NodeUnavailable if the node does not return one of them. */
  async read(located: readonly LocatedTx[]): Promise<TxParts[]> {
    const found = located.map((each) => this.#cache.get(keyOf(each)))
    const missing = located.filter((_, at) => found[at] === undefined)
    const fetched = missing.length === 0 ? new Map<string, TxParts>() : await this.#fetch(missing)
    return located.map((each, at) => {
      const parts = found[at] ?? fetched.get(keyOf(each))
      if (parts === undefined)
        throw new NodeUnavailable(`the node does not have transaction ${each.txid} in block ${each.hash}`)
      return parts
    })
  }

  /**
   * Returns unspent outputs of the chain by their outpoints; those that the node does not have are missing. Much cheaper than the
   * transactions that created them. @throws NodeUnavailable.
   */
  async coins(outpoints: readonly string[]): Promise<ReadonlyMap<string, Coin>> {
    const coins = new Map<string, Coin>()
    for (let at = 0; at < outpoints.length; at += COINS_AT_ONCE) {
      const some = outpoints.slice(at, at + COINS_AT_ONCE)
      const outputs = some.map((each) => ({ txid: each.slice(0, 64), vout: Number(each.slice(65)) }))
      const replies = await this.#call((node, signal) => node.unspentOutputs(outputs, signal))
      for (const [index, outpoint] of some.entries()) {
        const coin = replies[index] ?? undefined
        if (coin === undefined) continue
        const script = Buffer.from(coin.scriptPubKey.hex, 'hex')
        coins.set(outpoint, { value: coinsToBaseUnits(coin.value), script })
      }
    }
    return coins
  }

  async #fetch(located: readonly LocatedTx[]): Promise<ReadonlyMap<string, TxParts>> {
    const fetched = new Map<string, TxParts>()
    const add = (hash: string, reply: NodeBlockTx): void => {
      const key = keyOf({ txid: reply.txid, hash })
      const parts = partsOf(hash, reply)
      fetched.set(key, parts)
      this.#cache.set(key, parts)
    }
    const counts = new Map<string, number>()
    for (const { hash } of located) counts.set(hash, (counts.get(hash) ?? 0) + 1)
    const whole = new Set([...counts.keys()].filter((hash) => (counts.get(hash) ?? 0) >= WHOLE_BLOCK))
    const single = located.filter(({ hash }) => !whole.has(hash))
    for (let at = 0; at < single.length; at += AT_ONCE) {
      const some = single.slice(at, at + AT_ONCE)
      const replies = await this.#call((node, signal) => node.transactionsOf(some, signal))
      for (const [index, { txid, hash }] of some.entries()) {
        const reply = replies[index]
        try {
          if (reply?.txid === txid) add(hash, reply)
          else whole.add(hash)
        } catch (error) {
          // Before Bitcoin Core 25 the node returns prevouts with whole blocks only.
          if (!(error instanceof MissingPrevoutError)) throw unavailable(error)
          whole.add(hash)
        }
      }
    }
    for (const hash of whole) {
      const { tx } = await this.#call((node, signal) => node.block(hash, signal))
      try {
        for (const reply of tx) add(hash, reply)
      } catch (error) {
        throw unavailable(error)
      }
    }
    return fetched
  }

  /** Calls the node. @throws NodeUnavailable also for an error of the node: it does not have the block, or not any more. */
  #call<R>(make: Parameters<typeof this.node.call<R>>[0]): Promise<R> {
    return this.node.call(make, () => false)
  }
}

const keyOf = ({ txid, hash }: LocatedTx): string => `${hash}/${txid}`

/** Returns the parts of a transaction: copies, because each is kept. */
function partsOf(hash: string, reply: NodeBlockTx): TxParts {
  const { tx, prevouts } = verifiedTx(hash, reply)
  return {
    body: Buffer.from(tx.body),
    prevouts: encodePrevouts(prevouts),
    witness: Buffer.from(tx.witness),
  }
}

/** Returns the error for an invalid reply of the node. */
const unavailable = (error: unknown): unknown =>
  error instanceof InvalidBlockError ? new NodeUnavailable(error.message, { cause: error }) : error
