import { isoTime } from '../../../../../pipelines/chain/time.js'
import { Type } from '@sinclair/typebox'
import { isDilithiumScript } from '../../../../../pipelines/chain/address.js'
import { DILITHIUM_SPEND, protectionOf } from '../../../../../pipelines/chain/columns/protection.js'
import { electrumHashOf } from '../../../../../pipelines/chain/script.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { at as atHeight, badArgument, MAX_SCRIPT_NAME, address as oneAddress } from '../arguments.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { declareRead, NO_BLOCK, type ReadContext } from '../read.js'
import { AddressEntry, type AddressSummary } from '../shapes.js'
import {
  changeOf,
  endsOfScript,
  type NamedScript,
  requestedScript,
  scriptFields,
  scriptOf,
} from '../script.js'

/** Returns the summary of a script; undefined if neither chain nor mempool contains it. The totals count the chain alone. */
export async function summaryOf(
  context: ReadContext,
  named: NamedScript,
): Promise<AddressSummary | undefined> {
  const { scriptHash } = named
  const { mempool, validity } = context
  validity.dependsOn(scriptHash)
  const inMempool = mempool.ofScript(scriptHash)
  const [first, last] = await endsOfScript(context, scriptHash)
  if (last === undefined && inMempool.length === 0) return undefined
  return summaryFrom(context, named, { first, last, inMempool })
}

/** Returns the summary of a script that neither chain nor mempool contains. */
export const unusedSummary = (context: ReadContext, named: NamedScript): AddressSummary =>
  summaryFrom(context, named, { first: undefined, last: undefined, inMempool: [] })

interface Uses {
  readonly first: ScriptRow | undefined
  readonly last: ScriptRow | undefined
  readonly inMempool: readonly ShownTx[]
}

function summaryFrom(
  context: ReadContext,
  { script, scriptHash, network, address, isDilithiumSpelling }: NamedScript,
  { first, last, inMempool }: Uses,
): AddressSummary {
  const { chain } = context
  if (script === undefined) throw new Error(`table scripts lacks script ${scriptHash}`)
  const change = inMempool.reduce((sum, tx) => sum + changeOf(tx, scriptHash), 0n)
  const timeOf = (row: ScriptRow | undefined): string | null =>
    row === undefined ? null : isoTime(chain.blocks.timeAt(row.height))
  const received = last?.totalReceived ?? 0n
  const sent = last?.totalSent ?? 0n
  const spendKinds = last?.spendKinds ?? 0
  const fields = scriptFields(context, { script, network })
  const type = fields.script_type
  const protection = protectionOf(type, spendKinds)
  return {
    address,
    ...fields,
    scripthash: electrumHashOf(script),
    first_seen_height: first?.height ?? null,
    first_seen: timeOf(first),
    last_seen: timeOf(last),
    tx_count: last?.ordinal ?? 0,
    total_received: received.toString(),
    total_sent: sent.toString(),
    balance: (received - sent).toString(),
    funded_count: last?.fundedCount ?? 0,
    spent_count: (last?.fundedCount ?? 0) - (last?.unspentCount ?? 0),
    unspent_count: last?.unspentCount ?? 0,
    protection,
    protection_by: protection === protectionOf(type, 0) ? 'script' : 'spend',
    isDilithium:
      isDilithiumScript(script, network) || isDilithiumSpelling || (spendKinds & DILITHIUM_SPEND) !== 0,
    unconfirmed: { balance_change: change.toString(), tx_count: inMempool.length },
  }
}

const MAX_ADDRESSES = 1_000
/** The number of addresses that the rate limit counts as a request. */
const ADDRESSES_PER_REQUEST = 20
/** The number of addresses that are looked up together: fewer than a batch holds, so that other requests share it. */
const ADDRESSES_AT_ONCE = 50

export const addressSummaries = declareRead({
  name: 'addressSummaries',
  about:
    'Totals, balances and unconfirmed changes of many addresses; counts as a request for every 20 of them.',
  path: '/addresses',
  method: 'POST',
  fresh: 'objects',
  args: {
    addresses: Type.Array(Type.String({ maxLength: MAX_SCRIPT_NAME }), {
      minItems: 1,
      maxItems: MAX_ADDRESSES,
      description: 'the addresses, or scripts as in /address/:address',
      allowed: `a list of 1 to ${String(MAX_ADDRESSES)} addresses`,
    }),
    at: atHeight,
  },
  answer: Type.Object({
    items: Type.Array(AddressEntry, { description: 'one for each address, in their order' }),
  }),
  notFound: [NO_BLOCK],
  cost: ({ addresses }) => Math.ceil(addresses.length / ADDRESSES_PER_REQUEST),
  // A wallet may take an address without a summary for unused.
  emptyFrom: (_, { items }) => (items.some(({ code }) => code === 'HW_ADDRESS_NOT_FOUND') ? 0 : undefined),
  async resolve(context, { addresses }) {
    const items: AddressEntry[] = []
    for (let at = 0; at < addresses.length; at += ADDRESSES_AT_ONCE) {
      const some = addresses.slice(at, at + ADDRESSES_AT_ONCE)
      items.push(...(await Promise.all(some.map((address) => entryOf(context, address)))))
    }
    return { items }
  },
})

async function entryOf(context: ReadContext, address: string): Promise<AddressEntry> {
  if (scriptOf(context, address) === undefined) {
    const { code, message } = badArgument('address', oneAddress)
    return { address, summary: null, error: message, code }
  }
  const summary = await summaryOf(context, await requestedScript(context, address))
  if (summary !== undefined) return { address, summary, error: null, code: null }
  return { address, summary: null, error: 'Address not found', code: 'HW_ADDRESS_NOT_FOUND' }
}
