import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { announceEndpoint, withdrawEndpoint } from '../process/discovery.js'
import { runService, untilAborted, type ServiceContext } from '../process/lifecycle.js'
import { PortTaken } from '../process/ports.js'
import { startEngine, type Engine, type EngineOptions } from './engine.js'

/** An engine whose parent was killed needs a moment to close its tables; a running one keeps its folder. */
const LOCK_WAIT_MS = 5000
/** Longer than the deadline after which the engine is killed. */
const STOP_DEADLINE_MS = 30_000

await runService('engine', run, { stopDeadlineMs: STOP_DEADLINE_MS })

async function run({ config, logger, signal, args }: ServiceContext): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { 'http-port': { type: 'string' } } })
  await mkdir(config.dataDir, { recursive: true })
  const file = join(config.dataDir, 'engine.json')
  const options = { dataDir: join(config.dataDir, 'engine'), lockWaitMs: LOCK_WAIT_MS, logger }
  const port = values['http-port']
  const engine = await (port === undefined
    ? startWhereItWas(options, join(config.dataDir, 'engine.port'))
    : startEngine({ ...options, httpPort: Number(port) }))
  await announceEndpoint(file, { url: engine.url, pid: engine.pid })
  logger.info({ url: engine.url, enginePid: engine.pid }, 'engine listening')
  const died = await Promise.race([engine.exited, untilAborted(signal)])
  await withdrawEndpoint(file)
  if (died !== undefined) throw new Error(`The engine exited: ${died}`)
  await engine.stop()
}

/** Starts the engine on the port of its last start if that is free, so that clients find it again. */
async function startWhereItWas(options: EngineOptions, portFile: string): Promise<Engine> {
  const before = Number(await readFile(portFile, 'utf8').catch(() => ''))
  const engine = await startEngine(before > 0 ? { ...options, httpPort: before } : options).catch(
    (error: unknown) => {
      if (error instanceof PortTaken) return startEngine(options)
      throw error
    },
  )
  await writeFile(portFile, new URL(engine.url).port)
  return engine
}
