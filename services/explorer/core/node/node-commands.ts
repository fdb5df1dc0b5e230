import { Type } from '@sinclair/typebox'
import {
  isRpcError,
  NodeRpcError,
  NodeUnavailable,
  RPC_UNKNOWN_METHOD,
} from '../../../../pipelines/node/errors.js'
import { Reply, txidReply } from '../../../../pipelines/node/replies.js'
import type { NodeConnection } from './node-connection.js'

const anyReply = new Reply(Type.Unknown())
const testReply = new Reply(
  Type.Array(
    Type.Object({ allowed: Type.Optional(Type.Boolean()), 'reject-reason': Type.Optional(Type.String()) }),
    {
      minItems: 1,
    },
  ),
)
const objectReply = new Reply(Type.Object({}))

/** Limits of a call, in coins: per 1000 virtual bytes, and of outputs that can never be spent. */
export interface TxLimits {
  readonly maxFeeRate?: number | undefined
  readonly maxBurnAmount?: number | undefined
}

/** The verdict of the mempool of the node about a transaction, with its reason for a refusal. */
export type Verdict = { readonly isAccepted: true } | { readonly isAccepted: false; readonly reason: string }

/**
 * The calls of the node that clients make through the explorer, with the node's own answers.
 * All of them throw NodeRpcError with the node's code and text, and NodeUnavailable.
 */
export class NodeCommands {
  constructor(private readonly node: Pick<NodeConnection, 'call'>) {}

  /** Sends a transaction to the mempool and to the peers of the node. @param hex its serialisation. @returns the txid. */
  send(hex: string): Promise<string> {
    return this.node.call((client, signal) => client.call('sendrawtransaction', [hex], txidReply, signal))
  }

  /** Submits transactions that depend on each other, parents first. @returns the answer of `submitpackage`. */
  submitPackage(hexes: readonly string[], { maxFeeRate, maxBurnAmount }: TxLimits): Promise<unknown> {
    const limits = maxBurnAmount === undefined ? [maxFeeRate] : [maxFeeRate ?? null, maxBurnAmount]
    const params = [hexes, ...limits.filter((each) => each !== undefined)]
    return this.node.call((client, signal) => client.call('submitpackage', params, anyReply, signal))
  }

  /** Asks whether the mempool would accept transactions. @returns the answer of `testmempoolaccept`. */
  testAccept(hexes: readonly string[], { maxFeeRate }: TxLimits): Promise<unknown> {
    const params = [hexes, ...(maxFeeRate === undefined ? [] : [maxFeeRate])]
    return this.node.call((client, signal) => client.call('testmempoolaccept', params, anyReply, signal))
  }

  /**
   * Returns whether the mempool would accept a transaction; undefined if the node has no `testmempoolaccept`.
   * @param hex its serialisation.
   */
  async verdict(hex: string): Promise<Verdict | undefined> {
    try {
      const [test] = await this.node.call((client, signal) =>
        client.call('testmempoolaccept', [[hex]], testReply, signal),
      )
      return test?.allowed === true
        ? { isAccepted: true }
        : { isAccepted: false, reason: test?.['reject-reason'] ?? '' }
    } catch (error) {
      if (isRpcError(error, RPC_UNKNOWN_METHOD)) return undefined
      if (error instanceof NodeRpcError) return { isAccepted: false, reason: error.reason }
      throw error
    }
  }

  /** Describes a transaction of a block, or of the mempool. */
  async transaction(txid: string, blockHash: string | undefined): Promise<object> {
    const params = [txid, true, ...(blockHash === undefined ? [] : [blockHash])]
    const described = await this.node.call((client, signal) =>
      client.call('getrawtransaction', params, objectReply, signal),
    )
    const { in_active_chain: isKnown, ...rest } = described as Record<string, unknown>
    return rest
  }

  /**
   * Returns the node's estimates (`estimatesmartfee`) by the number of blocks, in base units per virtual byte; undefined for those that it
   * cannot make, and for all if the node is unreachable or has no estimates.
   */
  async feeEstimates(targets: readonly number[], mode?: string): Promise<readonly (number | undefined)[]> {
    try {
      const rates = await this.node.call((client, signal) => client.smartFees(targets, mode, signal))
      // In coins per 1000 virtual bytes.
      return rates.map((rate) => (rate === undefined ? undefined : Math.round(rate * 1e8) / 1_000))
    } catch (error) {
      if (error instanceof NodeUnavailable || isRpcError(error, RPC_UNKNOWN_METHOD)) return []
      throw error
    }
  }
}
