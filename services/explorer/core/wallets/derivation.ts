import { networkNamed } from '../../../../pipelines/chain/networks.js'
import { parseDerivations } from './descriptor.js'
import type { KeyType } from './key-types.js'
import { Underivable } from './refusal.js'

/** Scripts to derive: those of a branch of an account from an index on. */
export interface ScriptRange {
  readonly account: number
  readonly branch: number
  readonly from: number
  readonly count: number
}

/** A job of the thread: ranges of scripts of an extended key or descriptor. */
export interface DerivationJob {
  readonly text: string
  readonly type: KeyType | undefined
  /** The name of the network. */
  readonly network: string
  readonly ranges: readonly ScriptRange[]
}

/** The accounts of an extended key or descriptor, and the scripts of each range. */
export interface Derived {
  readonly kind: 'extended_key' | 'descriptor'
  readonly accounts: readonly {
    readonly type: KeyType | undefined
    readonly branches: number
    readonly isRanged: boolean
  }[]
  readonly scripts: readonly (readonly Uint8Array[])[]
}

/** The reason for which nothing can be derived. */
export interface Refused {
  readonly refused: string
}

/** Derives the scripts of a job. Errors of libraries, which may contain the text, end here. */
export function derive({ text, type, network, ranges }: DerivationJob): Derived | Refused {
  try {
    const { kind, accounts } = parseDerivations(text, networkNamed(network), type)
    const scripts = ranges.map(({ account, branch, from, count }) =>
      Array.from(
        { length: count },
        (_, at) => accounts[account]?.scriptAt(branch, from + at) ?? new Uint8Array(),
      ),
    )
    return {
      kind,
      accounts: accounts.map((each) => {
        return { type: each.type, branches: each.branches, isRanged: each.isRanged }
      }),
      scripts,
    }
  } catch (error) {
    return { refused: error instanceof Underivable ? error.message : 'it cannot be derived' }
  }
}
