import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ElectrumClient, type ElectrumMessage } from '../harness/electrum-client.js'
import { electrumStatus } from '../harness/naive-electrum.js'

const RETRY_MS = 50
const SUBSCRIBE = 'blockchain.scripthash.subscribe'
const HEADERS = 'blockchain.headers.subscribe'
/** The error of a server that cannot answer at the moment. */
const BUSY = -102

/** The statuses of scripts by their hashes, and the header of the tip (hex). */
export interface ElectrumState {
  readonly statuses: ReadonlyMap<string, string | null>
  readonly header: string
}

interface WatchOptions {
  /** The name in messages. */
  readonly name: string
  readonly address: string
  /** The hashes of the scripts. */
  readonly hashes: readonly string[]
  /** The time until the first connection. */
  readonly delayMs: number
}

/** A wallet that subscribes to scripts and to the tip, and again whenever it was disconnected. */
export class ElectrumWatch {
  readonly faults: string[] = []
  /** The number of messages that were received without being requested. */
  notified = 0
  readonly #known = new Map<string, string | null>()
  readonly #running: Promise<void>
  #tip: string | undefined
  #client: ElectrumClient | undefined
  #isStopped = false

  readonly #options: WatchOptions

  constructor(options: WatchOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  /** Breaks the connection; the wallet connects again. */
  cut(): void {
    this.#client?.close()
  }

  async close(): Promise<void> {
    this.#isStopped = true
    this.cut()
    await this.#running
  }

  /** Returns what the wallet knows otherwise than it is. */
  wrong({ statuses, header }: ElectrumState): string[] {
    this.#take()
    const { name, hashes } = this.#options
    const wrong = hashes.flatMap((hash) => {
      const known = this.#known.get(hash)
      const status = statuses.get(hash)
      return known === status
        ? []
        : [`${name} knows status ${String(known)} of ${hash}, not ${String(status)}`]
    })
    if (this.#tip !== header) wrong.push(`${name} knows the tip ${String(this.#tip)}, not ${header}`)
    return wrong
  }

  async #run(): Promise<void> {
    await sleep(this.#options.delayMs)
    while (!this.#isStopped) {
      await this.#connection().catch(() => undefined)
      if (!this.#isStopped) await sleep(RETRY_MS)
    }
  }

  /** Resolves when the connection has ended. */
  async #connection(): Promise<void> {
    const client = await ElectrumClient.connect(this.#options.address)
    this.#client = client
    this.#known.clear()
    this.#tip = undefined
    const ended = once(client.socket, 'close')
    const requests = [
      { id: 0, method: 'server.version', params: ['chaos', ['1.4', '1.6']] },
      { id: HEADERS, method: HEADERS, params: [] },
      ...this.#options.hashes.map((hash) => ({ id: hash, method: SUBSCRIBE, params: [hash] })),
    ]
    client.send(requests.map((request) => `${JSON.stringify(request)}\n`).join(''))
    if (this.#isStopped) client.close()
    await ended
    this.#take()
  }

  /** Takes the messages that came, in their order: the last one about a script counts. */
  #take(): void {
    const { name } = this.#options
    for (const message of (this.#client?.others.splice(0) ?? []) as ElectrumMessage[]) {
      if (message.method !== undefined) this.#takeNotification(message)
      else if (message.error !== undefined) {
        if (message.error?.code !== BUSY) this.faults.push(`${name} is answered ${JSON.stringify(message)}`)
        this.cut()
      } else if (message.id === HEADERS) this.#tip = (message.result as { hex: string }).hex
      else if (message.id !== 0) this.#known.set(String(message.id), message.result as string | null)
    }
  }

  #takeNotification({ method, params: [first, status] = [] }: ElectrumMessage): void {
    const { name } = this.#options
    this.notified++
    if (method === HEADERS) {
      const { hex } = first as { hex: string }
      if (this.#tip === hex) this.faults.push(`${name} is sent the tip ${hex} again`)
      this.#tip = hex
      return
    }
    const hash = String(first)
    if (!this.#known.has(hash)) this.faults.push(`${name} is sent a status of ${hash} before the answer`)
    if (this.#known.get(hash) === status)
      this.faults.push(`${name} is sent status ${String(status)} of ${hash} again`)
    this.#known.set(hash, status as string | null)
  }
}

/** Compares the answers to a wallet that connects now with a state. @throws Error if its connection ends. */
export async function freshElectrumDifferences(address: string, expected: ElectrumState): Promise<string[]> {
  const client = await ElectrumClient.connect(address)
  const ended = once(client.socket, 'close').then(() => {
    throw new Error('the explorer ended the connection of a wallet')
  })
  try {
    return await Promise.race([answerDifferences(client, expected), ended])
  } finally {
    client.close()
  }
}

async function answerDifferences(
  client: ElectrumClient,
  { header, statuses }: ElectrumState,
): Promise<string[]> {
  const wrong: string[] = []
  const { hex } = (await client.result(HEADERS)) as { hex: string }
  if (hex !== header) wrong.push(`${HEADERS} returns ${hex}, not ${header}`)
  for (const [hash, status] of statuses) {
    const answer = await client.result(SUBSCRIBE, hash)
    if (answer !== status) wrong.push(`the status of ${hash} is ${String(answer)}, not ${String(status)}`)
    type Entry = { readonly tx_hash: string; readonly height: number }
    const history = (await client.result('blockchain.scripthash.get_history', hash)) as Entry[]
    const hashed = electrumStatus(history.map(({ tx_hash: txid, height }) => ({ txid, height })))
    if (hashed !== status)
      wrong.push(`the history of ${hash} hashes to ${String(hashed)}, not ${String(status)}`)
  }
  return wrong
}
