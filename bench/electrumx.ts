import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BITCOIN_REGTEST } from '../pipelines/chain/networks.js'
import { freePort } from '../services/process/ports.js'
import { ElectrumClient } from '../test/harness/electrum-client.js'
import { NETWORK } from './network.js'
import { settled } from './processes.js'

const INDEXING_MS = 600_000

/**
 * Runs ElectrumX (1.20 of the package `e-x` of PyPI) without its limits, and calls back when it shows a height.
 * @returns undefined if `ELECTRUMX_EXE`, its program electrumx_server, is not set, or the chain is none that it knows.
 */
export async function withElectrumX<T>(
  folder: string,
  { nodeUrl, height }: { readonly nodeUrl: string; readonly height: number },
  work: (port: number) => Promise<T>,
): Promise<T | undefined> {
  const program = process.env['ELECTRUMX_EXE']
  if (NETWORK !== BITCOIN_REGTEST || program === undefined) {
    const reason = NETWORK === BITCOIN_REGTEST ? 'ELECTRUMX_EXE is not set' : `${NETWORK.name} is not Bitcoin`
    process.stderr.write(`bench: SKIPPED: the comparison with ElectrumX (${reason})\n`)
    return undefined
  }
  const [port, database] = [await freePort(), join(folder, 'electrumx')]
  await mkdir(database)
  const server = spawn(program, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      COIN: 'Bitcoin',
      NET: 'regtest',
      DB_DIRECTORY: database,
      DAEMON_URL: nodeUrl,
      SERVICES: `tcp://127.0.0.1:${String(port)}`,
      COST_SOFT_LIMIT: '0',
      COST_HARD_LIMIT: '0',
      INITIAL_CONCURRENT: '1000',
      PEER_DISCOVERY: 'off',
      PEER_ANNOUNCE: '',
      ALLOW_ROOT: '1',
    },
  })
  const log = createWriteStream(join(folder, 'electrumx.log'))
  server.stdout.pipe(log, { end: false })
  server.stderr.pipe(log, { end: false })
  try {
    await settled(async () => (await heightOf(port, server)) >= height, INDEXING_MS)
    return await work(port)
  } finally {
    if (server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'exit')
      server.kill('SIGTERM')
      await gone
    }
    log.end()
  }
}

/** @throws Error if the server does not respond yet, or has exited. */
async function heightOf(port: number, server: ChildProcess): Promise<number> {
  if (server.exitCode !== null) throw new Error(`ElectrumX exited with ${String(server.exitCode)}`)
  const client = await ElectrumClient.connect(`127.0.0.1:${String(port)}`)
  try {
    await client.result('server.version', 'bench', '1.4')
    const tip = (await client.result('blockchain.headers.subscribe')) as { readonly height: number }
    return tip.height
  } finally {
    client.close()
  }
}
