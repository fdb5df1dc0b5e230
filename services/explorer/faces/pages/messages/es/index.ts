import type { Messages } from '../en/index.js'
import { addresses } from './addresses.js'
import { chain } from './chain.js'
import { figures } from './figures.js'
import { frame } from './frame.js'
import { service } from './service.js'
import { transactions } from './transactions.js'

/** All words of the pages in Spanish. */
export const es: Messages = { ...frame, ...chain, ...transactions, ...addresses, ...figures, ...service }
