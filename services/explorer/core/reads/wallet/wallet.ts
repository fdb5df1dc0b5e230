import { limit, offset } from '../arguments.js'
import { windowed } from '../lists.js'
import { declareRead, NO_BLOCK, type ReadContext } from '../read.js'
import { changeOf } from '../script.js'
import { Wallet, WalletAddress, type WalletBranch } from '../shapes.js'
import { changesOf, isReadable } from './history.js'
import {
  costOf,
  isUsed,
  type ScannedBranch,
  type ScannedWallet,
  scan,
  WALLET_ARGUMENTS,
  type WalletScript,
} from './scan.js'

/** The last row of a script has its totals. */
const lastOf = ({ rows }: WalletScript) => rows.at(-1)

/** Returns the scripts of a wallet that are used, each once: those of two branches may be the same. */
export function usedScripts({ branches }: Pick<ScannedWallet, 'branches'>): WalletScript[] {
  const used = branches.flatMap(({ scripts }) => scripts.filter(isUsed))
  return [...new Map(used.map((each) => [each.scriptHash, each])).values()]
}

export const wallet = declareRead({
  name: 'wallet',
  about:
    'Balance, totals and next unused addresses of the scripts that an extended public key or an output descriptor derives.',
  path: '/wallet',
  method: 'POST',
  isPrivate: true,
  fresh: 'live',
  args: WALLET_ARGUMENTS,
  answer: Wallet,
  notFound: [NO_BLOCK],
  cost: costOf,
  // An index that is behind would return used addresses as unused.
  emptyFrom: () => 0,
  async resolve(context, args) {
    const scanned = await scan(context, args)
    return summaryOf(context, scanned, args.gap_limit)
  },
})

/** Returns the summary of a wallet. */
export async function summaryOf(
  context: ReadContext,
  scanned: ScannedWallet,
  gapLimit: number,
): Promise<Wallet> {
  const used = usedScripts(scanned)
  const txs = isReadable(used) ? await changesOf(context, used) : undefined
  return {
    kind: scanned.kind,
    gap_limit: gapLimit,
    is_complete: scanned.isComplete,
    ...totalsOf(used),
    unconfirmed: unconfirmedOf(used),
    tx_count: txs?.length ?? null,
    used_count: used.length,
    unspent_count: used.reduce((sum, each) => sum + (lastOf(each)?.unspentCount ?? 0), 0),
    branches: scanned.branches.map((branch) => branchOf(branch)),
  }
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, each) => sum + each, 0n)

function totalsOf(
  scripts: readonly WalletScript[],
): Pick<Wallet, 'balance' | 'total_received' | 'total_sent'> {
  const received = sumOf(scripts.map((each) => lastOf(each)?.totalReceived ?? 0n))
  const sent = sumOf(scripts.map((each) => lastOf(each)?.totalSent ?? 0n))
  return {
    balance: (received - sent).toString(),
    total_received: received.toString(),
    total_sent: sent.toString(),
  }
}

function unconfirmedOf(scripts: readonly WalletScript[]): Wallet['unconfirmed'] {
  const change = sumOf(
    scripts.flatMap(({ unconfirmed, scriptHash }) => unconfirmed.map((tx) => changeOf(tx, scriptHash))),
  )
  const txids = new Set(scripts.flatMap(({ unconfirmed }) => unconfirmed.map(({ txid }) => txid)))
  return { balance_change: change.toString(), tx_count: txids.size }
}

function branchOf({ type, branch, isRanged, scripts, lastUsed }: ScannedBranch): WalletBranch {
  const next = scripts[lastUsed + 1]
  return {
    type,
    branch,
    is_ranged: isRanged,
    derived_count: scripts.length,
    used_count: scripts.filter(isUsed).length,
    last_used_index: lastUsed < 0 ? null : lastUsed,
    next_unused:
      next === undefined
        ? null
        : { index: next.index, address: next.address, script_pub_key: next.script.toString('hex') },
  }
}

export const walletAddresses = declareRead({
  name: 'walletAddresses',
  about:
    'The scripts that an extended public key or an output descriptor derives, used or not, with their totals.',
  path: '/wallet/addresses',
  method: 'POST',
  isPrivate: true,
  fresh: 'live',
  args: { ...WALLET_ARGUMENTS, limit: limit(100, 500), offset },
  answer: windowed(WalletAddress),
  notFound: [NO_BLOCK],
  cost: costOf,
  emptyFrom: () => 0,
  async resolve(context, { limit, offset, ...args }) {
    const scripts = (await scan(context, args)).branches.flatMap((branch) => branch.scripts)
    return {
      items: scripts.slice(offset, offset + limit).map(addressOf),
      total: scripts.length,
      limit,
      offset,
    }
  },
})

function addressOf(each: WalletScript): WalletAddress {
  return {
    type: each.type,
    branch: each.branch,
    index: each.index,
    address: each.address,
    script_pub_key: each.script.toString('hex'),
    is_used: isUsed(each),
    tx_count: lastOf(each)?.ordinal ?? 0,
    ...totalsOf([each]),
    unconfirmed: unconfirmedOf([each]),
  }
}
