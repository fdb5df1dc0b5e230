import { Agent, request } from 'node:http'

/** Posts to one HTTP server over persistent connections. Frozen, like everything in this folder. */
export class Http {
  readonly #agent: Agent
  readonly #url: URL

  /** @param url may contain credentials. */
  constructor(url: string, connections: number) {
    this.#url = new URL(url)
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** @throws Error for a status other than 200. */
  post(path: string, body: string | Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port, username, password } = this.#url
      const headers = { 'content-length': Buffer.byteLength(body) }
      const auth = username === '' ? {} : { auth: `${username}:${password}` }
      const options = { hostname, port, path, headers, method: 'POST', agent: this.#agent, ...auth }
      const sent = request(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) resolve(text)
          else reject(new Error(`HTTP ${String(response.statusCode)}: ${text.slice(0, 500)}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
