import { NodeRpcError, NodeUnavailable } from '../../../../pipelines/node/errors.js'
import { NODE_UNAVAILABLE } from '../../core/answering/failure.js'
import type { Failure } from '../../core/answering/failure.js'
import { CODE, Refusal } from './refusal.js'
import type { Conversation } from './conversation.js'

const DISABLED = 'broadcasting is disabled: the operator enables it with BROADCAST=true'

/** Calls the node for a client. @throws Refusal with the node's reason. */
async function commanded(session: Conversation, make: () => Promise<string>): Promise<string | Failure> {
  const { limit } = session.commands ?? {}
  if ((await limit?.take(session.origin)) !== undefined)
    throw new Refusal(CODE.badRequest, 'too many transactions, try again in a minute')
  try {
    return await make()
  } catch (error) {
    if (error instanceof NodeUnavailable) return NODE_UNAVAILABLE
    if (!(error instanceof NodeRpcError)) throw error
    throw new Refusal(CODE.badRequest, `the transaction was rejected by network rules.\n\n${error.reason}`)
  }
}

/** Sends a transaction to the node. @returns its txid. @throws Refusal. */
export function broadcast(hex: string, session: Conversation): Promise<string | Failure> {
  const { commands } = session
  if (commands === undefined) throw new Refusal(CODE.badRequest, DISABLED)
  return commanded(session, async () => JSON.stringify(await commands.node.send(hex)))
}

/** The part of the answer of `submitpackage` that clients get. */
interface Submitted {
  readonly package_msg: string
  readonly 'tx-results': Readonly<Record<string, { readonly txid: string; readonly error?: string }>>
}

/** Submits transactions that depend on each other. @returns what came of it. @throws Refusal. */
export function broadcastPackage(
  hexes: readonly string[],
  isVerbose: boolean,
  session: Conversation,
): Promise<string | Failure> {
  const { commands } = session
  if (commands === undefined) throw new Refusal(CODE.badRequest, DISABLED)
  return commanded(session, async () => {
    const answer = (await commands.node.submitPackage(hexes, {})) as Submitted
    if (isVerbose) return JSON.stringify(answer)
    const errors = Object.values(answer['tx-results']).flatMap(({ txid, error }) =>
      error === undefined ? [] : [{ txid, error }],
    )
    const success = answer.package_msg === 'success'
    return JSON.stringify({ success, ...(errors.length > 0 ? { errors } : {}) })
  })
}
