import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import uWS from 'uWebSockets.js'

export interface BareFeed {
  readonly port: number
  readonly pid: number
  /** Publishes messages to the subscribers of their channels, in one turn of the event loop. */
  publish(messages: readonly string[]): void
  close(): Promise<void>
}

/** The baseline of `bench feed`: a process that subscribes clients and publishes messages that were made before. */
export async function startBareFeed(): Promise<BareFeed> {
  const child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })
  const [port] = (await once(child, 'message')) as [number]
  return {
    port,
    pid: child.pid ?? 0,
    publish: (messages) => void child.send(messages),
    close: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

const CHANNEL = /^\{"channel":"([a-z-]+)"/

function serve(): void {
  const app = uWS.App()
  app.ws('/*', {
    compression: uWS.DISABLED,
    maxBackpressure: 4 * 2 ** 20,
    closeOnBackpressureLimit: 1,
    idleTimeout: 120,
    sendPingsAutomatically: true,
    message: (ws, message) => {
      const { channel } = JSON.parse(Buffer.from(message).toString()) as { channel: string }
      ws.send(JSON.stringify({ type: 'subscribed', channel }))
      ws.subscribe(channel)
    },
  })
  process.on('message', (messages: readonly string[]) => {
    for (const message of messages) app.publish(CHANNEL.exec(message)?.[1] ?? '', message)
  })
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the bare feed cannot listen')
    process.send?.(uWS.us_socket_local_port(socket))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve()
