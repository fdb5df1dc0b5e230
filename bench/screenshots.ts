import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { CHROMIUM } from '../test/harness/chromium.js'
import { controlNode } from './node-control.js'
import { startStack, withProcesses } from './processes.js'

const USAGE = `npm run screenshots -- [--to DIR]
Writes the pictures of pages that the documentation shows to content/images, or with --to all pages at three widths, light and dark,
to a folder. Starts a simulated chain with a fixed seed; needs Chromium, which CHROMIUM names if it is not found.
Exit status: 0 all pictures are written, 2 they could not be made.`

const SIZE = { blocks: 300, txsPerBlock: 25, mix: 'rich' } as const
/** Transactions that wait in the mempool. */
const WAITING = 400
const PATIENCE_MS = 60_000
const WIDTHS = [390, 1280, 2200] as const
const HEIGHTS = { 390: 844, 1280: 900, 2200: 1300 } as const
type Width = (typeof WIDTHS)[number]
type Scheme = 'light' | 'dark'

/** The pictures of the documentation: their files, pages, widths and themes. */
const SHOWN: readonly (readonly [file: string, page: string, width: Width, scheme: Scheme])[] = [
  ['explorer', 'front', 1280, 'light'],
  ['explorer-dark', 'front', 1280, 'dark'],
  ['explorer-phone', 'front', 390, 'light'],
  ['explorer-block', 'block', 1280, 'light'],
  ['explorer-transaction', 'transaction', 1280, 'light'],
  ['explorer-address', 'address', 1280, 'light'],
  ['explorer-mempool', 'mempool', 1280, 'light'],
]

/** Pages without an object. */
const PAGES = [
  'blocks',
  'mempool',
  'mempool/block/1',
  'mining',
  'supply',
  'quantum',
  'reorgs',
  'labels',
  'op-returns',
  'large',
  'api',
  'status',
  'send',
  'wallet',
  'watch',
  'clock',
  'search?q=nothing',
  'embed/block/latest',
  'embed/mempool',
  'nowhere',
] as const

const { values } = parseArgs({ options: { to: { type: 'string' }, help: { type: 'boolean' } } })
if (values.help === true) {
  process.stdout.write(`${USAGE}\n`)
  process.exit(0)
}
try {
  if (CHROMIUM === undefined) throw new Error('no Chromium is installed: name it by CHROMIUM')
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  try {
    await withProcesses(async (start, folder) => {
      const stack = await startStack(start, folder, SIZE)
      await controlNode(stack.nodeUrl, `pool?enter=${String(WAITING)}`)
      await waitFor(stack.url)
      await takeAll(browser, stack.url, values.to)
    })
  } finally {
    await browser.close()
  }
} catch (error) {
  process.stderr.write(`screenshots: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}

/** Waits until the explorer shows the transactions that wait. */
async function waitFor(api: string): Promise<void> {
  const end = Date.now() + PATIENCE_MS
  while (Date.now() < end) {
    const { txCount } = await json<{ txCount: number }>(`${api}/mempool/summary`)
    if (txCount >= WAITING / 2) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  throw new Error('the explorer does not show the mempool')
}

async function json<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T
}

async function takeAll(browser: Browser, api: string, to: string | undefined): Promise<void> {
  const origin = new URL(api).origin
  const { items: txs } = await json<{
    items: { txid: string; outputs: { addresses: { address: string }[] }[] }[]
  }>(`${api}/block/${String(SIZE.blocks)}/txs?limit=20`)
  const { items: rich } = await json<{ items: { address: string }[] }>(`${api}/stats/richlist?limit=1`)
  const widest = txs
    .slice(1)
    .reduce((one, other) => (other.outputs.length > one.outputs.length ? other : one))
  const paths = new Map<string, string>([
    ['front', ''],
    ['block', `block/${String(SIZE.blocks)}`],
    ['transaction', `tx/${widest.txid}`],
    ['address', `address/${rich[0]?.address ?? ''}`],
    ...PAGES.map((path): [string, string] => [path, path]),
  ])
  const { timestamp } = await json<{ timestamp: string }>(`${api}/blocks/tip`)
  // The chain is as old as its seed says: the clock of the browser follows it, so that pictures stay the same.
  const now = Date.parse(timestamp) + 95_000
  const folder = to ?? 'content/images'
  await mkdir(folder, { recursive: true })
  const take = async (file: string, page: string, width: Width, colorScheme: Scheme): Promise<void> => {
    const context = await browser.newContext({
      viewport: { width, height: HEIGHTS[width] },
      colorScheme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
    })
    const opened = await context.newPage()
    await opened.clock.setFixedTime(now)
    await opened.goto(`${origin}/${paths.get(page) ?? page}`, { waitUntil: 'load' })
    await opened.screenshot({ path: join(folder, `${file}.png`), fullPage: to !== undefined })
    await context.close()
  }
  if (to === undefined) for (const shown of SHOWN) await take(...shown)
  else
    for (const page of paths.keys())
      for (const width of WIDTHS)
        for (const scheme of ['light', 'dark'] as const)
          await take(`${page.replace(/\W+/g, '-')}-${String(width)}-${scheme}`, page, width, scheme)
  process.stdout.write(`pictures are in ${folder}\n`)
}
