import { addresses } from './addresses.js'
import { chain } from './chain.js'
import { figures } from './figures.js'
import { frame } from './frame.js'
import { service } from './service.js'
import { transactions } from './transactions.js'

/** All words of the pages in English. Other languages have exactly these entries, which the compiler checks for each area. */
export const en = { ...frame, ...chain, ...transactions, ...addresses, ...figures, ...service }

export type Messages = typeof en
