import type { Read } from '../../core/reads/read.js'
import type { Failure } from '../../core/answering/failure.js'
import { broadcast, broadcastPackage } from './broadcast.js'
import { feeEstimate, feeHistogram, mempoolInfo, MODES, relayFee } from './reads/fees.js'
import { header, headers } from './reads/headers.js'
import { balance, history, status, unconfirmedHistory, unspent } from './reads/histories.js'
import { CODE, Refusal } from './refusal.js'
import type { Conversation } from './conversation.js'
import * as transactions from './reads/transactions.js'
import {
  booleanIn,
  hexIn,
  numberIn,
  scriptHashIn,
  type Signature,
  spelled,
  txidIn,
  type Values,
} from './values.js'
import { compare, parsed, type Version } from './version.js'

interface AnyMethod extends Signature {
  /** The first version of the protocol that has it. */
  readonly since?: string
  /** The first version that no longer has it. */
  readonly until?: string
}

/** A method that answers with a read, also as a part of a batch. */
export interface ReadMethod extends AnyMethod {
  /** Returns the read and its arguments. @throws Refusal. */
  readonly read: (values: Values, session: Conversation) => Wanted
  /** The code of the error for something that does not exist. */
  readonly absent?: number
}

/** A method with an answer of its own. */
export interface CallMethod extends AnyMethod {
  /** Returns the result as JSON. @throws Refusal. */
  readonly call: (values: Values, session: Conversation) => string | Failure | Promise<string | Failure>
}

export type Method = ReadMethod | CallMethod

/** A read with its arguments. */
export interface Wanted {
  readonly read: Read
  readonly args: Readonly<Record<string, string>>
  /** Converts the answer, as JSON, to the result. */
  readonly result?: (json: string) => string
  /** True if it shares no query with others of its batch. */
  readonly isAlone?: boolean
}

const NONE: Signature = { params: [], required: 0 }
const call = (answer: (session: Conversation) => string | Failure): CallMethod => ({
  ...NONE,
  call: (_, session) => answer(session),
})
const reading = (read: Read): ReadMethod => ({ ...NONE, read: () => ({ read, args: {} }) })

/** Declares a method with a script hash as its parameter. */
const ofScript = (read: Read): ReadMethod => ({
  params: ['scripthash'],
  required: 1,
  read: ([hash]) => ({ read, args: { hash: scriptHashIn(hash) } }),
})

/** Returns the way to estimate fees. @throws Refusal. */
function modeIn(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const mode = spelled(value).toUpperCase()
  if (MODES.some((each) => each === mode)) return mode
  if (typeof value === 'number') return undefined
  throw new Refusal(CODE.badRequest, `unknown estimatefee mode: ${mode}`)
}

/** The methods of the protocol. Source: https://electrum-protocol.readthedocs.io. */
const METHODS: Readonly<Record<string, Method>> = {
  'server.version': {
    params: ['client_name', 'protocol_version'],
    required: 0,
    isOpen: true,
    call: ([, version], session) => session.identify(version),
  },
  'server.ping': call(() => 'null'),
  'server.features': call((session) => session.features()),
  'server.banner': call((session) => session.banner()),
  'server.donation_address': call(() => '""'),
  'server.peers.subscribe': call(() => '[]'),
  'server.add_peer': { params: ['features'], required: 1, call: () => 'false' },
  'blockchain.headers.subscribe': call((session) => session.subscribeHeaders()),
  'blockchain.block.header': {
    params: ['height', 'cp_height'],
    required: 1,
    read: ([height, checkpoint]) => ({
      read: header,
      args: { height: String(numberIn(height)), checkpoint: String(numberIn(checkpoint, 0)) },
    }),
  },
  'blockchain.block.headers': {
    params: ['start_height', 'count', 'cp_height'],
    required: 2,
    read: ([from, count, checkpoint], session) => ({
      read: headers,
      isAlone: true,
      args: {
        from: String(numberIn(from)),
        count: String(numberIn(count)),
        checkpoint: String(numberIn(checkpoint, 0)),
        isList: String(session.isAtLeast(LISTED_HEADERS)),
      },
    }),
  },
  'blockchain.estimatefee': {
    params: ['number', 'mode'],
    required: 1,
    read: ([blocks, mode]) => {
      const given = modeIn(mode)
      const target = String(Math.min(numberIn(blocks), Number.MAX_SAFE_INTEGER))
      const args = { blocks: target, ...(given === undefined ? {} : { mode: given }) }
      return { read: feeEstimate, isAlone: true, args }
    },
  },
  'blockchain.relayfee': { ...reading(relayFee), until: '1.6' },
  'mempool.get_info': { ...reading(mempoolInfo), since: '1.6' },
  'mempool.get_fee_histogram': reading(feeHistogram),
  'blockchain.scripthash.get_balance': ofScript(balance),
  'blockchain.scripthash.get_history': ofScript(history),
  'blockchain.scripthash.get_mempool': ofScript(unconfirmedHistory),
  'blockchain.scripthash.listunspent': ofScript(unspent),
  'blockchain.scripthash.subscribe': {
    params: ['scripthash'],
    required: 1,
    read: ([value], session) => {
      const hash = scriptHashIn(value)
      return { read: status, args: { hash }, result: session.subscribe(hash) }
    },
  },
  'blockchain.scripthash.unsubscribe': {
    params: ['scripthash'],
    required: 1,
    since: '1.4.2',
    call: ([hash], session) => String(session.unsubscribe(scriptHashIn(hash))),
  },
  'blockchain.transaction.get': {
    params: ['tx_hash', 'verbose'],
    required: 1,
    absent: CODE.node,
    read: ([value, verbose]) => {
      const txid = txidIn(value)
      const { verboseTransaction, transaction } = transactions
      return { read: booleanIn(verbose, 'verbose') ? verboseTransaction : transaction, args: { txid } }
    },
  },
  'blockchain.transaction.get_merkle': {
    params: ['tx_hash', 'height'],
    required: 2,
    read: ([txid, height]) => ({
      read: transactions.merkleProof,
      isAlone: true,
      args: { txid: txidIn(txid), height: String(numberIn(height)) },
    }),
  },
  'blockchain.transaction.id_from_pos': {
    params: ['height', 'tx_pos', 'merkle'],
    required: 2,
    read: ([height, position, merkle]) => ({
      read: transactions.transactionAtPosition,
      args: {
        height: String(numberIn(height)),
        position: String(numberIn(position)),
        withBranch: String(booleanIn(merkle, 'merkle')),
      },
      isAlone: merkle !== undefined,
    }),
  },
  'blockchain.transaction.broadcast': {
    params: ['raw_tx'],
    required: 1,
    call: ([hex], session) => broadcast(hexIn(hex), session),
  },
  'blockchain.transaction.broadcast_package': {
    params: ['raw_txs', 'verbose'],
    required: 1,
    since: '1.6',
    call: ([hexes, verbose], session) => {
      if (!Array.isArray(hexes)) throw new Refusal(CODE.badRequest, `${spelled(hexes)} should be a list`)
      return broadcastPackage(hexes.map(hexIn), booleanIn(verbose, 'verbose'), session)
    },
  },
}

const LISTED_HEADERS = parsed('1.6') as Version
const VERSIONS = new Map(
  Object.values(METHODS).map((method) => [method, [parsed(method.since), parsed(method.until)] as const]),
)

/** Returns the method of a name in a version of the protocol. @throws Refusal. */
export function methodOf(name: unknown, version: Version): Method {
  if (typeof name !== 'string') throw new Refusal(CODE.unknownMethod, 'method must be a string')
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined
  const [since, until] = (method && VERSIONS.get(method)) ?? []
  if (
    method === undefined ||
    (since !== undefined && compare(version, since) < 0) ||
    (until !== undefined && compare(version, until) >= 0)
  )
    throw new Refusal(CODE.unknownMethod, `unknown method "${name}"`)
  return method
}
