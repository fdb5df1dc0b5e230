import type { Config } from '../config.js'
import {
  availablePort,
  EXPLORER_ELECTRUM,
  EXPLORER_ELECTRUM_TLS,
  EXPLORER_ESPLORA,
  EXPLORER_GRPC,
  EXPLORER_HTTP,
} from './ports.js'

/** The ports of the explorer: the property of the configuration, the environment variable, and the use. */
const PORTS = [
  ['explorerPort', 'EXPLORER_PORT', EXPLORER_HTTP],
  ['explorerGrpcPort', 'EXPLORER_GRPC_PORT', EXPLORER_GRPC],
  ['esploraPort', 'ESPLORA_PORT', EXPLORER_ESPLORA],
  ['electrumPort', 'ELECTRUM_PORT', EXPLORER_ELECTRUM],
  ['electrumTlsPort', 'ELECTRUM_TLS_PORT', EXPLORER_ELECTRUM_TLS],
] as const

type Port = (typeof PORTS)[number]

/** The ports of the explorer by environment variable: a number, or nothing if the port is off. */
export type ExplorerPorts = Readonly<Record<Port[1], string>>

/**
 * Chooses the ports of the explorer, for processes that it is restarted in: free ones where the configuration has 0.
 * @param choose returns a port that no other program uses. @throws its errors.
 */
export async function explorerPorts(
  config: Pick<Config, Port[0] | 'host'>,
  choose: typeof availablePort = availablePort,
): Promise<ExplorerPorts> {
  const ports: Partial<Record<Port[1], string>> = {}
  for (const [property, variable, what] of PORTS) {
    const port = config[property]
    ports[variable] = port === undefined ? '' : String(await choose(port, config.host, what))
  }
  return ports as ExplorerPorts
}
