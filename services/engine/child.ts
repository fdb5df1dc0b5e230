/**
 * The process of the engine: the `local` main of ClickHouse from libchdb, with a query that starts the listeners and then
 * reads a pipe until its end. The arguments are ClickHouse's. When standard input of this process ends, because the
 * parent closes it or dies, ClickHouse shuts down cleanly.
 */
import { closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { DataType, load, open } from 'ffi-rs'

/** ClickHouse waits 5 s for requests in progress. A shutdown that takes longer than this hangs. */
const SHUTDOWN_DEADLINE_MS = 20_000

function libraryPath(): string {
  const abi = process.platform === 'linux' ? '-gnu' : ''
  const fromChdb = createRequire(createRequire(import.meta.url).resolve('chdb/package.json'))
  const manifest = fromChdb.resolve(`@chdb/lib-${process.platform}-${process.arch}${abi}/package.json`)
  return join(dirname(manifest), 'libchdb.so')
}

/**
 * Makes an anonymous pipe with the system call. Node gives its children a socket as standard input, which ClickHouse cannot open
 * by name, and with a named pipe it would hang if the parent died before opening it.
 */
function makePipe(): { readEnd: number; writeEnd: number } {
  open({ library: 'process', path: '' })
  const ends = Buffer.alloc(8)
  const failed = load({
    library: 'process',
    funcName: 'pipe',
    retType: DataType.I32,
    paramsType: [DataType.U8Array],
    paramsValue: [ends],
  })
  if (failed !== 0) throw new Error('pipe() failed')
  return { readEnd: ends.readInt32LE(0), writeEnd: ends.readInt32LE(4) }
}

const { readEnd, writeEnd } = makePipe()
let isStopping = false

function shutDown(): void {
  if (isStopping) return
  isStopping = true
  closeSync(writeEnd)
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), SHUTDOWN_DEADLINE_MS)
}

process.stdin.on('end', shutDown).on('error', shutDown).resume()

const listensTcp = process.argv.some((each) => each.startsWith('--tcp_port='))
// HTTP last: when it responds, the engine has started.
const listen = `${listensTcp ? 'SYSTEM START LISTEN TCP; ' : ''}SYSTEM START LISTEN HTTP; `
const query = `${listen}SELECT count() FROM file('/dev/fd/${String(readEnd)}', LineAsString)`
// ClickHouse skips the first argument. It runs in a thread of its own because it blocks until the pipe ends.
const args = ['clickhouse', ...process.argv.slice(2), `--query=${query}`]
open({ library: 'chdb', path: libraryPath() })
await load({
  library: 'chdb',
  funcName: 'query_stable_v2',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
  runInNewThread: true,
})
// Without a shutdown request it returns only if it could not run; the reason is on standard error.
process.exit(isStopping ? 0 : 1)
