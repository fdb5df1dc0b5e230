import { findNetwork, type Network, NETWORKS, REGTEST } from '../pipelines/chain/networks.js'

/** The network that the suites simulate, by the variable that names it for every process. The stored figures are of the default. */
export const NETWORK = simulatedNetwork(process.env['CHAIN'] ?? REGTEST.name)

/** Ends the process if the name is not that of a network, with the status of a suite that could not be run. */
function simulatedNetwork(name: string): Network {
  const network = findNetwork(name)
  if (network !== undefined) return network
  process.stderr.write(`bench: CHAIN must be one of ${[...NETWORKS.keys()].join(', ')}, got '${name}'\n`)
  process.exit(2)
}
