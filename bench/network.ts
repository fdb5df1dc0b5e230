import { networkNamed, REGTEST } from '../pipelines/chain/networks.js'

/** The network that the suites simulate, by the variable that names it for every process. The stored figures are of the default. */
export const NETWORK = networkNamed(process.env['CHAIN'] ?? REGTEST.name)
