import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { StartRefused } from '../../../../pipelines/errors.js'
import { type ServiceContext, untilAborted } from '../../../process/lifecycle.js'
import { explorerPorts } from '../../../process/explorer-ports.js'
import { availablePort, PortTaken } from '../../../process/ports.js'
import { Supervised } from '../../../process/supervised.js'
import { monotonicMs } from './clock.js'
import { PAGES_PER_REQUEST } from '../options.js'
import { Coordinator, type Process } from './coordinator.js'
import type { FromPrimary, ToPrimary } from './messages.js'
import { Outbox } from './outbox.js'

/** The time that a process may take to stop; shorter than the time after which `npm start` kills this process. */
const STOP_MS = 8_000
/** The time for which processes of a primary that was killed may still have the ports. */
const PORT_WAIT_MS = 3_000
const LOOK_AGAIN_MS = 100

/** Runs the processes of the explorer, and restarts a process that exits. They share the ports; this process only coordinates them. */
export async function supervise({ config, logger, signal, args }: ServiceContext): Promise<void> {
  const { explorerProcesses: size } = config
  if (process.platform !== 'linux')
    throw new StartRefused(
      `EXPLORER_PROCESSES is ${String(size)}, which needs Linux: on ${process.platform} one process gets all connections; set 1`,
    )
  const ports = await explorerPorts(config, portFor)
  const onDefect = (error: unknown): void => {
    logger.error({ err: error }, 'cannot combine the metrics of the processes')
  }
  const coordinator = new Coordinator({
    onDefect,
    now: monotonicMs,
    limits: {
      requests: config.rateLimitPerMinute,
      pages: PAGES_PER_REQUEST * config.rateLimitPerMinute,
      broadcasts: config.broadcastRateLimitPerMinute,
      esplora: config.esploraRateLimitPerMinute,
      electrum: config.electrumRateLimitPerMinute,
    },
    // Higher than the number of any event of an earlier run, which has far fewer than one per millisecond.
    feedBegin: Date.now(),
  })
  const refused = new AbortController()
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('../../main.js', import.meta.url)),
    args: [...args],
    stdio: ['ignore', 2, 2, 'ipc'],
    // Unlike JSON it has NaN, which metrics contain.
    serialization: 'advanced',
  })
  const launch = () => {
    const worker = cluster.fork(ports)
    const outbox = new Outbox<FromPrimary>((messages) => {
      // The callback receives the error of a process that has just exited.
      if (worker.isConnected()) worker.send(messages, () => undefined)
    })
    const self: Process = {
      id: worker.id,
      send: (message) => {
        outbox.add(message)
      },
    }
    worker.on('message', (messages: readonly ToPrimary[]) => {
      for (const message of messages) coordinator.receive(message, self)
    })
    // Supervised handles the error of the process; without a listener the worker's event would end the primary.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      // Messages that arrive later would bring the process back.
      worker.removeAllListeners('message')
      coordinator.exited(self)
    })
    return worker.process
  }
  const processes = Array.from({ length: size }, (_, index) => {
    const name = `explorer process ${String(index + 1)}`
    const onRefused = (): void => {
      refused.abort()
    }
    return new Supervised({ name, launch, stopDeadlineMs: STOP_MS, logger, onRefused })
  })
  for (const each of processes) each.start()
  await untilAborted(AbortSignal.any([signal, refused.signal]))
  await Promise.all(processes.map((each) => each.stop()))
  coordinator.close()
  if (refused.signal.aborted)
    throw new StartRefused('the explorer cannot run with this configuration (see the error above)')
}

/** Returns a port that no other program uses. @throws PortTaken, StartRefused. */
async function portFor(port: number, host: string, what: string): Promise<number> {
  const end = performance.now() + PORT_WAIT_MS
  for (;;) {
    try {
      return await availablePort(port, host, what)
    } catch (error) {
      if (!(error instanceof PortTaken) || performance.now() >= end) throw error
      await sleep(LOOK_AGAIN_MS)
    }
  }
}
