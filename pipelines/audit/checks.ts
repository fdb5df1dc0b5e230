import { addressCheck } from './address-check.js'
import type { Check } from './audit.js'
import { blockCheck } from './block-check.js'
import { chainCheck, supplyCheck, tipCheck } from './chain-checks.js'
import { dayCheck } from './day-checks.js'
import { mempoolCheck } from './mempool-check.js'
import { balanceCheck } from './sum-checks.js'

/** The checks of a complete audit, by name, in their order. */
export const CHECKS: Readonly<Record<string, Check>> = {
  tip: tipCheck,
  chain: chainCheck,
  supply: supplyCheck,
  balances: balanceCheck,
  addresses: addressCheck,
  blocks: blockCheck,
  days: dayCheck,
  mempool: mempoolCheck,
}
