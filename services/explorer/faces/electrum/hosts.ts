/** The protocols of the addresses of a server, with the names of their ports in `server.features` and their usual ports. */
const PROTOCOLS = {
  tcp: ['tcp_port', 50_001],
  ssl: ['ssl_port', 50_002],
  ws: ['ws_port', 80],
  wss: ['wss_port', 443],
} as const

type Protocol = keyof typeof PROTOCOLS

/** The ports of a server by host, as `server.features` has them. */
export type Hosts = Readonly<Record<string, Partial<Record<(typeof PROTOCOLS)[Protocol][0], number>>>>

/** Returns the ports of a server by host. @param urls separated by commas, such as `ssl://electrum.example.org:50002`. */
export function hostsOf(urls = ''): Hosts {
  const hosts: Record<string, Hosts[string]> = {}
  for (const text of urls.split(',').filter((each) => each.trim() !== '')) {
    const { protocol, hostname, port } = new URL(text.trim())
    const [name, usual] = PROTOCOLS[protocol.slice(0, -1) as Protocol]
    hosts[hostname] = { ...hosts[hostname], [name]: port === '' ? usual : Number(port) }
  }
  return hosts
}
