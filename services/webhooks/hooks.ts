import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler, ValueErrorType } from '@sinclair/typebox/compiler'
import { findNodeAtLocation, getNodeValue, type Node } from 'jsonc-parser'
import { decodeAddress } from '../../pipelines/chain/address.js'
import type { Network } from '../../pipelines/chain/networks.js'
import { DefinitionFileError, lineAt, parseArray } from '../process/definition-file.js'
import { secretBytes } from './delivery/signature.js'

/** The largest number of confirmations that a hook can ask for: 144 blocks are a day on Bitcoin. */
export const MAX_CONFIRMATIONS = 144

const txid = Type.String({
  pattern: '^[0-9a-f]{64}$',
  allowed: 'a txid of 64 lower-case hexadecimal characters',
})
const script = Type.String({ pattern: '^([0-9a-f]{2})+$', allowed: 'a script in lower-case hexadecimal' })
const secret = Type.String({ allowed: 'whsec_ and base64 of 24 to 64 bytes' })

/** An entry of `WEBHOOKS_FILE`. `allowed` names the values of a field in error messages. */
const Entry = Type.Object(
  {
    id: Type.String({
      pattern: '^[\\w.-]{1,64}$',
      allowed: 'up to 64 letters, digits, dots, hyphens and underscores',
    }),
    url: Type.String({ pattern: '^https?://', allowed: 'an https or http URL without credentials' }),
    secrets: Type.Array(secret, { minItems: 1, maxItems: 4, allowed: 'one to four secrets' }),
    addresses: Type.Optional(Type.Array(Type.String(), { allowed: 'a list of addresses' })),
    scripts: Type.Optional(Type.Array(script, { allowed: 'a list of scripts' })),
    transactions: Type.Optional(Type.Array(txid, { allowed: 'a list of txids' })),
    min_value: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,19}$', allowed: 'an amount in base units, as a string' }),
    ),
    reorgs: Type.Optional(Type.Boolean({ allowed: 'true or false' })),
    confirmations: Type.Optional(
      Type.Array(
        Type.Integer({
          minimum: 0,
          maximum: MAX_CONFIRMATIONS,
          allowed: `an integer from 0 to ${String(MAX_CONFIRMATIONS)}`,
        }),
        {
          minItems: 1,
          uniqueItems: true,
          allowed: `a list of different integers from 0 to ${String(MAX_CONFIRMATIONS)}`,
        },
      ),
    ),
  },
  { additionalProperties: false, allowed: 'an object' },
)
const entry = TypeCompiler.Compile(Entry)

/** A receiver that the operator has registered, and the events that it receives. */
export interface Hook {
  readonly id: string
  readonly url: string
  /** The keys that sign its deliveries; several while a receiver changes from one to another. */
  readonly secrets: readonly Buffer[]
  /** Watched scripts in hexadecimal, each with its address as in the file, null for one that is listed as a script. */
  readonly scripts: ReadonlyMap<string, string | null>
  readonly txids: ReadonlySet<string>
  /** Transactions that move at least this, in base units, are reported; undefined: none. */
  readonly minValue: bigint | undefined
  readonly reorgs: boolean
  /** The numbers of confirmations at which a transaction is reported, ascending; 0 is the mempool. */
  readonly confirmations: readonly number[]
}

/**
 * Parses the content of `WEBHOOKS_FILE`: a JSON array of entries. A list, and not JSON lines, so that a file that is only partly
 * written is no valid file with fewer hooks.
 * @throws DefinitionFileError.
 */
export function parseHooks(text: string, network: Network): readonly Hook[] {
  const nodes = parseArray(text, 'webhooks')
  const hooks = nodes.map((node) => hookOf(node, text, network))
  for (const [index, { id }] of hooks.entries())
    if (hooks.findIndex((each) => each.id === id) < index)
      fail(text, nodes[index]?.offset ?? 0, `webhook ${id} is defined twice`)
  return hooks
}

function fail(text: string, offset: number, what: string): never {
  throw new DefinitionFileError(lineAt(text, offset), what)
}

function hookOf(node: Node, text: string, network: Network): Hook {
  const value: unknown = getNodeValue(node)
  const invalid = entry.Errors(value).First()
  if (invalid !== undefined) {
    const path = invalid.path.split('/').slice(1)
    const at = findNodeAtLocation(
      node,
      path.map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
    )
    const { allowed } = invalid.schema as { allowed?: string }
    const name = path.join('.')
    const what =
      invalid.type === ValueErrorType.ObjectAdditionalProperties
        ? 'is not a field of a webhook'
        : at === undefined
          ? 'is missing'
          : `must be ${String(allowed)}`
    // Values may be secrets, and are not repeated.
    fail(text, (at ?? node).offset, `${name === '' ? 'a webhook' : name} ${what}`)
  }
  const fields = value as Static<typeof Entry>
  const failAt = (path: readonly (string | number)[], what: string): never =>
    fail(text, (findNodeAtLocation(node, [...path]) ?? node).offset, what)
  if (!isReceiver(fields.url)) failAt(['url'], 'url must be an https or http URL without credentials')
  const scripts = new Map<string, string | null>((fields.scripts ?? []).map((each) => [each, null]))
  for (const [index, address] of (fields.addresses ?? []).entries()) {
    const decoded = decodeAddress(address, network)
    if (decoded === undefined)
      return failAt(['addresses', index], `${address} is not an address of ${network.name}`)
    scripts.set(decoded.script.toString('hex'), address)
  }
  const secrets = fields.secrets.map(
    (each, index) =>
      secretBytes(each) ??
      failAt(['secrets', index], `secrets.${String(index)} must be ${secret['allowed'] as string}`),
  )
  const txids = new Set(fields.transactions)
  if (scripts.size + txids.size === 0 && fields.min_value === undefined && fields.reorgs !== true)
    fail(text, node.offset, `webhook ${fields.id} watches nothing`)
  return {
    id: fields.id,
    url: fields.url,
    secrets,
    scripts,
    txids,
    minValue: fields.min_value === undefined ? undefined : BigInt(fields.min_value),
    reorgs: fields.reorgs ?? false,
    confirmations: [...(fields.confirmations ?? [1])].sort((one, other) => one - other),
  }
}

function isReceiver(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
}
