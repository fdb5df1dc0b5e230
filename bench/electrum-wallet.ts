import { createHash } from 'node:crypto'
import { ElectrumClient } from '../test/harness/electrum-client.js'

/** The requests of a batch of Sparrow, and the lines that Electrum has in flight. */
const [BATCH, LINES] = [100, 300]

interface Transaction {
  readonly tx_hash: string
  readonly height: number
}

/** The times of a wallet that opens, in seconds. */
export interface Opening {
  /** Until it has the status of each script, and the history of each used one. */
  readonly histories: number
  /** The same, and each transaction of the histories. */
  readonly transactions: number
}

type Call = readonly [method: string, ...params: readonly unknown[]]
type Ask = (calls: readonly Call[]) => Promise<unknown[]>

/** Opens a wallet as Sparrow does: batches of 100, one after the other. @throws Error for an incorrect answer. */
export const openInBatches = (port: number, hashes: readonly string[]): Promise<Opening> =>
  open(port, hashes, (client) => async (calls) => {
    const results: unknown[] = []
    for (let at = 0; at < calls.length; at += BATCH)
      results.push(...(await client.results(calls.slice(at, at + BATCH))))
    return results
  })

/** Opens a wallet as Electrum does: a line for each request, hundreds in flight. @throws Error for an incorrect answer. */
export const openInLines = (port: number, hashes: readonly string[]): Promise<Opening> =>
  open(port, hashes, (client) => async (calls) => {
    const results: unknown[] = []
    let next = 0
    const ask = async (): Promise<void> => {
      for (let at = next++; at < calls.length; at = next++) results[at] = await client.result(...calls[at]!)
    }
    await Promise.all(Array.from({ length: LINES }, ask))
    return results
  })

async function open(
  port: number,
  hashes: readonly string[],
  asking: (client: ElectrumClient) => Ask,
): Promise<Opening> {
  const client = await ElectrumClient.connect(`127.0.0.1:${String(port)}`)
  try {
    await client.result('server.version', 'bench', '1.4')
    const ask = asking(client)
    const began = performance.now()
    const elapsed = (): number => (performance.now() - began) / 1_000
    const of = (method: string, keys: readonly string[]): Promise<unknown[]> =>
      ask(keys.map((key) => [`blockchain.${method}`, key]))
    const statuses = await of('scripthash.subscribe', hashes)
    const used = hashes.filter((_, at) => statuses[at] !== null)
    const histories = (await of('scripthash.get_history', used)) as (readonly Transaction[])[]
    const seconds = elapsed()
    const txids = [...new Set(histories.flat().map((tx) => tx.tx_hash))]
    const transactions = await of('transaction.get', txids)
    const opening = { histories: seconds, transactions: elapsed() }
    const expected = histories.map((history) => statusOf(history))
    if (JSON.stringify(expected) !== JSON.stringify(statuses.filter((each) => each !== null)))
      throw new Error('a status is not the hash of its history')
    if (transactions.some((hex) => typeof hex !== 'string')) throw new Error('a transaction is missing')
    return opening
  } finally {
    client.close()
  }
}

/** Returns the status of a history. */
export const statusOf = (history: readonly Transaction[]): string =>
  createHash('sha256')
    .update(history.map(({ tx_hash: txid, height }) => `${txid}:${String(height)}:`).join(''))
    .digest('hex')

/** Lines of one method from connections that each have several in flight. */
export interface LineLoad {
  readonly port: number
  readonly method: string
  /** Script hashes, each asked once; or again and again, if `seconds` is set. */
  readonly hashes: readonly string[]
  readonly seconds?: number
}

const [CONNECTIONS, IN_FLIGHT] = [16, 32]

/** Returns the number of requests that are answered in a second. @throws Error for an error as an answer. */
export async function requestsPerSecond({ port, method, hashes, seconds }: LineLoad): Promise<number> {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => ElectrumClient.connect(`127.0.0.1:${String(port)}`)),
  )
  try {
    await Promise.all(clients.map((client) => client.result('server.version', 'bench', '1.4')))
    const began = performance.now()
    const end = seconds === undefined ? Number.POSITIVE_INFINITY : began + seconds * 1_000
    let next = 0
    const ask = async (client: ElectrumClient): Promise<void> => {
      while (performance.now() < end && (seconds !== undefined || next < hashes.length))
        await client.result(method, hashes[next++ % hashes.length])
    }
    await Promise.all(clients.flatMap((client) => Array.from({ length: IN_FLIGHT }, () => ask(client))))
    return (next * 1_000) / (performance.now() - began)
  } finally {
    for (const client of clients) client.close()
  }
}
