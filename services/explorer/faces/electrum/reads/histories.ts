import { Type } from '@sinclair/typebox'
import type { ShownTx } from '../../../core/mempool/shown-tx.js'
import { declareRead, type ReadContext } from '../../../core/reads/read.js'
import { changeOf, keyOfScriptHash, lastOfScript } from '../../../core/reads/script.js'
import { unspentWithMempool } from '../../../core/reads/addresses/unspent.js'
import { WrittenAnswer } from '../../../core/reads/written-answer.js'
import { text } from './arguments.js'
import { CHARACTERS, confirmedOf } from './confirmed.js'

const args = { hash: text('script hash') }
const emptyList = (_: unknown, answer: unknown): number | undefined =>
  Array.isArray(answer) && answer.length === 0 ? 0 : undefined

/** Returns the key of the script that a request names, and records that the answer depends on it. */
async function scriptIn(context: ReadContext, hash: string): Promise<string> {
  const key = await keyOfScriptHash(context, hash)
  context.validity.dependsOn(key)
  return key
}

/** An unconfirmed transaction in the order of the protocol. */
interface Unconfirmed {
  readonly tx: ShownTx
  /** -1 if it spends an output that is unconfirmed itself, otherwise 0. */
  readonly height: number
}

/** Returns the unconfirmed transactions of a script, and records what their heights depend on. */
function unconfirmedOf({ mempool, validity }: ReadContext, scriptHash: string): readonly Unconfirmed[] {
  return mempool
    .ofScript(scriptHash)
    .map((tx) => {
      const parents = tx.outpoints
        .map((outpoint) => outpoint.slice(0, 64))
        .filter((txid) => mempool.get(txid) !== undefined)
      for (const parent of parents) validity.dependsOn(parent)
      return { tx, height: parents.length > 0 ? -1 : 0 }
    })
    .sort((one, other) => other.height - one.height || (one.tx.txid < other.tx.txid ? -1 : 1))
}

const unconfirmedJson = ({ tx, height }: Unconfirmed): string =>
  `{"tx_hash":"${tx.txid}","height":${String(height)},"fee":${String(tx.fee)}}`

const listOf = (items: readonly string[]): WrittenAnswer<unknown[]> | unknown[] =>
  items.length === 0 ? [] : new WrittenAnswer(`[${items.join(',')}]`)

export const history = declareRead({
  name: 'electrumHistory',
  path: '/electrum/history',
  fresh: 'objects',
  args,
  answer: Type.Array(Type.Unknown()),
  emptyFrom: emptyList,
  async resolve(context, { hash }) {
    const { scriptHash, json = '' } = await confirmedOf(context, hash, true)
    const unconfirmed = unconfirmedOf(context, scriptHash).map(unconfirmedJson)
    return listOf(json === '' ? unconfirmed : [json, ...unconfirmed])
  },
})

export const unconfirmedHistory = declareRead({
  name: 'electrumUnconfirmedHistory',
  path: '/electrum/unconfirmed-history',
  fresh: 'objects',
  args,
  answer: Type.Array(Type.Unknown()),
  emptyFrom: emptyList,
  async resolve(context, { hash }) {
    const scriptHash = await scriptIn(context, hash)
    return listOf(unconfirmedOf(context, scriptHash).map(unconfirmedJson))
  },
})

/** The status of a script: the hash of its history, null for an empty one. */
export interface Status {
  readonly status: string | null
  /** True if it has unconfirmed transactions: a block may change their heights without touching the script. */
  readonly isUnconfirmed: boolean
}

export const status = declareRead({
  name: 'electrumStatus',
  path: '/electrum/status',
  fresh: 'objects',
  args,
  answer: Type.Object({ status: Type.Union([Type.String(), Type.Null()]), isUnconfirmed: Type.Boolean() }),
  emptyFrom: (_, answer) => (answer.status === null ? 0 : undefined),
  async resolve(context, { hash }) {
    const confirmed = await confirmedOf(context, hash, false)
    const unconfirmed = unconfirmedOf(context, confirmed.scriptHash)
    if (confirmed.count + unconfirmed.length === 0) return { status: null, isUnconfirmed: false }
    const digest = confirmed.digest.copy()
    for (const { tx, height } of unconfirmed) digest.update(`${tx.txid}:${String(height)}:`)
    return { status: digest.digest('hex'), isUnconfirmed: unconfirmed.length > 0 }
  },
})

export const balance = declareRead({
  name: 'electrumBalance',
  path: '/electrum/balance',
  fresh: 'objects',
  args,
  answer: Type.Object({ confirmed: Type.Number(), unconfirmed: Type.Number() }),
  emptyFrom: (_, { confirmed, unconfirmed }) => (confirmed === 0 && unconfirmed === 0 ? 0 : undefined),
  async resolve(context, { hash }) {
    const scriptHash = await scriptIn(context, hash)
    const last = await lastOfScript(context, scriptHash)
    const change = context.mempool
      .ofScript(scriptHash)
      .reduce((sum, tx) => sum + changeOf(tx, scriptHash), 0n)
    const confirmed = last === undefined ? 0n : last.totalReceived - last.totalSent
    return { confirmed: Number(confirmed), unconfirmed: Number(change) }
  },
})

export const unspent = declareRead({
  name: 'electrumUnspent',
  path: '/electrum/unspent',
  fresh: 'objects',
  args,
  answer: Type.Array(Type.Unknown()),
  emptyFrom: emptyList,
  async resolve(context, { hash }) {
    const scriptHash = await scriptIn(context, hash)
    const window = { limit: Number.MAX_SAFE_INTEGER, offset: 0 }
    const { outputs } = await unspentWithMempool(context, { scriptHash }, window)
    await context.size.reserve(CHARACTERS * outputs.length)
    const heightOf = (height: number | null): number => height ?? Number.POSITIVE_INFINITY
    const sorted = [...outputs].sort((one, other) =>
      one.height === other.height
        ? (one.txIndex ?? 0) - (other.txIndex ?? 0) ||
          (one.txid === other.txid ? one.vout - other.vout : one.txid < other.txid ? -1 : 1)
        : heightOf(one.height) - heightOf(other.height),
    )
    return listOf(
      sorted.map(
        ({ txid, vout, height, value }) =>
          `{"tx_hash":"${txid}","tx_pos":${String(vout)},"height":${String(height ?? 0)},"value":${value}}`,
      ),
    )
  },
})
