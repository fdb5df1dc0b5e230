import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NodeClient } from '../pipelines/node/client.js'
import { freePort } from '../services/process/ports.js'
import { ServiceProcess } from '../test/harness/processes.js'
import { settled, withProcesses } from './processes.js'
import { NETWORK } from './network.js'
import { comparison } from './repetitions.js'
import type { Figure } from './report.js'

const POLL_INTERVAL_MS = 1000
/** Percent of a core that the poller may use by the design. */
const MAX_CPU = 15
/** MB: the manifests give it 1 GiB. */
const MAX_MB = 900
/** The number of polls of the baseline. */
const OLD_LOOKS = 3

export interface MempoolOptions {
  readonly txs: number
  readonly arrivalMs: number
  readonly seconds: number
}

/**
 * Measures the poller while it follows a large mempool with few changes. The baseline is its former method: the whole
 * verbose mempool at every poll, fetched, checked and compared.
 */
export function mempool({ txs, arrivalMs, seconds }: MempoolOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const port = await freePort()
    const args = [port, txs, arrivalMs].map(String)
    const mempool = new ServiceProcess(
      'mempool-node',
      { CHAIN: NETWORK.name },
      join(folder, 'node.log'),
      args,
      'bench/mempool-node.js',
    )
    mempool.start()
    const url = `http://bench:bench@127.0.0.1:${String(port)}`
    const node = new NodeClient(url, { timeoutMs: 120_000 })
    try {
      await settled(async () => (await node.mempoolInfo()).size >= txs, 120_000)
      const metricsPort = await freePort()
      const beganAt = performance.now()
      const poller = start('poller', {
        NODE_RPC_URL: url,
        POLL_INTERVAL_MS: String(POLL_INTERVAL_MS),
        POLLER_METRICS_PORT: String(metricsPort),
      })
      const held = (): Promise<number> => unconfirmed(metricsPort)
      await settled(async () => (await held()) >= txs, 600_000)
      const filling = (performance.now() - beganAt) / 1000
      const cpu = await share(poller, seconds)
      await settled(async () => (await held()) === (await node.mempoolInfo()).size, 30_000)
      poller.rssMb()
      const before = await oldWay(node)
      return [
        { ...comparison('mempool_cpu', '% of a core', cpu, before), most: MAX_CPU },
        { name: 'mempool_memory', value: poller.peakMb, unit: 'MB', most: MAX_MB },
        { name: 'mempool_filled', value: txs / filling, unit: 'transactions/s' },
      ]
    } finally {
      node.close()
      await mempool.kill()
    }
  })
}

/** Returns the percent of a core that a process uses. */
async function share(poller: ServiceProcess, seconds: number): Promise<number> {
  const [cpu, at] = [poller.cpuSeconds(), performance.now()]
  for (let second = 0; second < seconds; second++) {
    await sleep(1000)
    poller.rssMb()
  }
  return (100 * (poller.cpuSeconds() - cpu)) / ((performance.now() - at) / 1000)
}

/** Returns the percent of a core that a poll uses which fetches and compares everything, with the pause after it. */
async function oldWay(node: NodeClient): Promise<number> {
  const known = new Set(Object.keys(await node.mempool()))
  const [{ user, system }, at] = [process.cpuUsage(), performance.now()]
  for (let look = 0; look < OLD_LOOKS; look++) {
    const listed = await node.mempool()
    const entered = Object.entries(listed).filter(([txid]) => !known.has(txid))
    const left = [...known].filter((txid) => !Object.hasOwn(listed, txid))
    if (left.length > 0 || entered.length > known.size) throw new Error('the mempool has changed')
  }
  const used = process.cpuUsage()
  const cpuMs = (used.user - user + used.system - system) / 1000
  return (100 * cpuMs) / (performance.now() - at + OLD_LOOKS * POLL_INTERVAL_MS)
}

async function unconfirmed(port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/metrics`)
  return Number(/^headwater_poller_mempool_transactions (\d+)$/m.exec(await answer.text())?.[1])
}
