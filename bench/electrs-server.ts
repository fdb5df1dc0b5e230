import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../services/process/ports.js'
import { cpuSecondsOf } from '../test/harness/processes.js'

const MAX_REPORT = 2_000

/** A running electrs, Blockstream's or mempool's, with an empty index at its start. */
export class Electrs {
  private constructor(
    /** The URL of its Esplora API. */
    readonly url: string,
    private readonly child: ReturnType<typeof spawn>,
    private readonly database: string,
    private readonly logFile: string,
  ) {}

  /** Starts it on a node of the chain bitcoin-regtest. @param program its path. @param nodeUrl with the credentials of the node. */
  static async start(program: string, folder: string, nodeUrl: string): Promise<Electrs> {
    const [database, logFile] = [join(folder, 'electrs'), join(folder, 'electrs.log')]
    await mkdir(database)
    const address = async (): Promise<string> => `127.0.0.1:${String(await freePort())}`
    const http = await address()
    const { host, username, password } = new URL(nodeUrl)
    const options = {
      network: 'regtest',
      'daemon-rpc-addr': host,
      'daemon-dir': database,
      cookie: `${username}:${password}`,
      'db-dir': database,
      'http-addr': http,
      'electrum-rpc-addr': await address(),
      'monitoring-addr': await address(),
      // By default it refuses addresses with over 500.
      'utxos-limit': '1000000',
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    const child = spawn(program, [...args, '--jsonrpc-import'], { stdio: ['ignore', 'pipe', 'pipe'] })
    const log = createWriteStream(logFile)
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    return new Electrs(`http://${http}`, child, database, logFile)
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Returns the end of its log. */
  report(): string {
    return `electrs: ${readFileSync(this.logFile, 'utf8').slice(-MAX_REPORT)}`
  }

  /** Returns the processor time that it has used, in seconds. */
  cpuSeconds(): number {
    return this.child.pid === undefined || !this.alive ? 0 : cpuSecondsOf(this.child.pid)
  }

  /** Stops it. */
  async stop(): Promise<void> {
    if (!this.alive) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await gone
  }

  /** Returns the size of its index in bytes. */
  async size(): Promise<number> {
    const names = await readdir(this.database, { recursive: true })
    const sizes = await Promise.all(names.map((name) => stat(join(this.database, name))))
    return sizes.reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0)
  }
}
