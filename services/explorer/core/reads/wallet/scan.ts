import { type Static, Type } from '@sinclair/typebox'
import type { Derived, ScriptRange } from '../../wallets/derivation.js'
import { derived } from '../../wallets/deriver.js'
import { KEY_TYPES, type KeyType } from '../../wallets/key-types.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { oneOf } from '../fields.js'
import { at } from '../arguments.js'
import { BadArgument, networkIn, type ReadContext } from '../read.js'
import { lastRowsOfScript, type NamedScript, namedScript } from '../script.js'

/** The arguments of the reads of a wallet. */
export const WALLET_ARGUMENTS = {
  descriptor: Type.String({
    minLength: 1,
    maxLength: 8_000,
    description: 'an output descriptor, or an extended public key (xpub, ypub, zpub, tpub, upub, vpub)',
    allowed: 'an output descriptor or an extended public key, at most 8000 characters',
  }),
  type: Type.Optional(
    oneOf(
      KEY_TYPES,
      'the only type of scripts to derive from an extended key; by default all that it is for',
    ),
  ),
  gap_limit: Type.Integer({
    minimum: 1,
    maximum: 200,
    default: 20,
    description: 'number of unused scripts in a row after which a branch ends',
  }),
  at,
}
export type WalletArguments = Static<ReturnType<typeof Type.Object<typeof WALLET_ARGUMENTS>>>

/** The unused scripts per branch that the rate limit counts as a request, for the four types that an extended key may have. */
const GAP_PER_REQUEST = 4

/** Returns the number of requests that the rate limit counts for a read of a wallet. */
export const costOf = ({ gap_limit }: Pick<WalletArguments, 'gap_limit'>): number =>
  Math.ceil(gap_limit / GAP_PER_REQUEST)

/** The maximum number of scripts that an answer derives; each takes up to some milliseconds. */
export const MAX_SCRIPTS = 3_000
/** The number of scripts that are looked up together: fewer than a batch holds, so that other requests share it. */
const SCRIPTS_AT_ONCE = 50

/** A script of a wallet. */
export interface WalletScript extends NamedScript {
  readonly script: Buffer
  readonly type: KeyType | 'descriptor'
  readonly branch: number
  readonly index: number
  /** Its last transactions in the chain, lowest ordinal first: all of a short history; none if it has none. */
  readonly rows: readonly ScriptRow[]
  readonly unconfirmed: readonly ShownTx[]
}

/** A branch whose scripts have been looked up. */
export interface ScannedBranch extends Pick<WalletScript, 'type' | 'branch'> {
  readonly isRanged: boolean
  readonly scripts: readonly WalletScript[]
  /** Index of the last script with transactions, −1 if there is none. */
  readonly lastUsed: number
}

/** The scripts of a wallet, with their state in chain and mempool. */
export interface ScannedWallet {
  readonly kind: Derived['kind']
  readonly branches: readonly ScannedBranch[]
  /** False if branches end early, because there are too many scripts. */
  readonly isComplete: boolean
}

export const isUsed = ({ rows, unconfirmed }: WalletScript): boolean =>
  rows.length > 0 || unconfirmed.length > 0

/**
 * Derives the scripts of a wallet and looks them up, each branch until so many in a row are unused as its gap limit.
 * @throws BadArgument, whose message contains nothing of the key or descriptor; DatabaseUnavailable.
 */
export async function scan(context: ReadContext, wallet: WalletArguments): Promise<ScannedWallet> {
  const { kind, accounts } = await scriptsOf(context, wallet, [])
  const open = accounts.flatMap(({ type, branches, isRanged }, account) =>
    Array.from(
      { length: branches },
      (_, branch) => new OpenBranch(account, { type: type ?? 'descriptor', branch, isRanged }),
    ),
  )
  let left = MAX_SCRIPTS
  for (;;) {
    const ranges: [OpenBranch, ScriptRange][] = []
    for (const branch of open) {
      const count = Math.min(branch.missing(wallet.gap_limit), left)
      left -= count
      if (count > 0) ranges.push([branch, branch.next(count)])
    }
    if (ranges.length === 0) break
    const { scripts } = await scriptsOf(
      context,
      wallet,
      ranges.map(([, range]) => range),
    )
    for (const [at, [branch]] of ranges.entries())
      branch.add(await lookedUp(context, branch, scripts[at] ?? []))
  }
  const isComplete = open.every((branch) => branch.missing(wallet.gap_limit) === 0)
  return { kind, branches: kind === 'descriptor' ? open : usedTypes(open), isComplete }
}

/** Returns the branches of the types of scripts that are used; of the first type if none is. */
function usedTypes(branches: readonly ScannedBranch[]): readonly ScannedBranch[] {
  const types = new Set(branches.filter(({ lastUsed }) => lastUsed >= 0).map(({ type }) => type))
  const [first] = branches
  if (types.size === 0 && first !== undefined) types.add(first.type)
  return branches.filter(({ type }) => types.has(type))
}

class OpenBranch implements ScannedBranch {
  readonly type: ScannedBranch['type']
  readonly branch: number
  readonly isRanged: boolean
  readonly scripts: WalletScript[] = []
  lastUsed = -1

  constructor(
    private readonly account: number,
    { type, branch, isRanged }: Pick<ScannedBranch, 'type' | 'branch' | 'isRanged'>,
  ) {
    this.type = type
    this.branch = branch
    this.isRanged = isRanged
  }

  /** Returns the number of scripts that are still to be looked up, unless some of them are used. */
  missing(gapLimit: number): number {
    return (this.isRanged ? this.lastUsed + 1 + gapLimit : 1) - this.scripts.length
  }

  /** Returns the range of the next scripts. */
  next(count: number): ScriptRange {
    return { account: this.account, branch: this.branch, from: this.scripts.length, count }
  }

  add(scripts: readonly WalletScript[]): void {
    this.scripts.push(...scripts)
    this.lastUsed = this.scripts.findLastIndex(isUsed)
  }
}

/** @throws BadArgument. */
async function scriptsOf(
  context: ReadContext,
  { descriptor: text, type }: WalletArguments,
  ranges: readonly ScriptRange[],
): Promise<Derived> {
  const network = networkIn(context).name
  const result = await derived({ text, type, network, ranges }, () => {
    context.tables.throwIfCancelled()
  })
  if ('refused' in result) throw new BadArgument(`descriptor is not accepted: ${result.refused}`)
  return result
}

async function lookedUp(
  context: ReadContext,
  { type, branch, scripts: earlier }: ScannedBranch,
  scripts: readonly Uint8Array[],
): Promise<WalletScript[]> {
  const network = networkIn(context)
  const result: WalletScript[] = []
  for (let from = 0; from < scripts.length; from += SCRIPTS_AT_ONCE) {
    const some = scripts.slice(from, from + SCRIPTS_AT_ONCE).map(async (bytes, at): Promise<WalletScript> => {
      const script = Buffer.from(bytes)
      const named = namedScript(script, network)
      return {
        ...named,
        script,
        type,
        branch,
        index: earlier.length + from + at,
        rows: await lastRowsOfScript(context, named.scriptHash),
        unconfirmed: context.mempool.ofScript(named.scriptHash),
      }
    })
    result.push(...(await Promise.all(some)))
  }
  return result
}
