import { startStack, withProcesses } from './processes.js'
import { comparison, rateOf, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface GraphqlOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
  /** Seconds of each measurement. */
  readonly seconds: number
}

const BLOCKS = 20
const TXS = 5
/** Requests of REST at the same time: as many connections as browsers open to a host. */
const CONNECTIONS = 6
/** The interval of new blocks: none arrives during a measurement. */
const NO_BLOCKS_MS = 3_600_000

const QUERY = `query ($page: Int!) { blocks(page: $page, limit: ${String(BLOCKS)}) { items { hash height
  transactions(limit: ${String(TXS)}) { items { txid fee inputs(limit: 100) { address value } } } } } }`

interface Page {
  readonly items: readonly { readonly hash: string }[]
}

/**
 * Measures a page of 20 blocks with 5 transactions each and the addresses of their inputs, by one GraphQL operation. The baseline is the
 * same data by REST: the page, then the transactions of its blocks. The two alternate. Later repetitions read pages again, of which
 * the explorer may still have the answers of REST: that is in favour of the baseline.
 */
export function graphql(options: GraphqlOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const { url, port } = await startStack(start, folder, { ...options, blockIntervalMs: NO_BLOCKS_MS })
    const pages = Math.floor(options.blocks / BLOCKS)
    let next = 0
    const pageNumber = (): number => 1 + (next++ % pages)
    return repeated(options.repetitions, async () => {
      const one = await rateOf(() => byGraphql(port, pageNumber()), options.seconds)
      const many = await rateOf(() => byRest(url, pageNumber()), options.seconds)
      return [comparison('pages', 'pages/s', one, many)]
    })
  })
}

async function byGraphql(port: number, page: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: QUERY, variables: { page } }),
  })
  const { data } = (await response.json()) as { data?: { blocks: Page } }
  if (data?.blocks.items.length !== BLOCKS) throw new Error(`GraphQL answered ${String(response.status)}`)
}

/** @param url of the API. */
async function byRest(url: string, page: number): Promise<void> {
  const get = async (path: string): Promise<Page> => {
    const response = await fetch(`${url}${path}`)
    if (!response.ok) throw new Error(`${path}: ${String(response.status)}`)
    return (await response.json()) as Page
  }
  const left = [...(await get(`/blocks?page=${String(page)}&limit=${String(BLOCKS)}`)).items]
  const worker = async (): Promise<void> => {
    for (let block = left.pop(); block !== undefined; block = left.pop())
      await get(`/block/${block.hash}/txs?limit=${String(TXS)}`)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
}
