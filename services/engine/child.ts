/**
 * The engine's own process: ClickHouse's `local` main out of libchdb, told to listen and then to read a pipe until it ends.
 * Arguments are ClickHouse's. Whoever holds this process's standard input holds the engine: when that ends (or its holder
 * dies), ClickHouse shuts down cleanly.
 */
import { closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { DataType, load, open } from 'ffi-rs'

/** ClickHouse waits 5 s for requests under way; what takes longer than this hangs. */
const SHUTDOWN_DEADLINE_MS = 20_000

function libraryPath(): string {
  const abi = process.platform === 'linux' ? '-gnu' : ''
  const fromChdb = createRequire(createRequire(import.meta.url).resolve('chdb/package.json'))
  const manifest = fromChdb.resolve(`@chdb/lib-${process.platform}-${process.arch}${abi}/package.json`)
  return join(dirname(manifest), 'libchdb.so')
}

/**
 * A pipe of the kernel's own. Node gives its children a socket for standard input, which ClickHouse cannot open by name, and
 * a named pipe would leave it hanging if the parent died before it was opened.
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
let requested = false

function shutDown(): void {
  if (requested) return
  requested = true
  closeSync(writeEnd)
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), SHUTDOWN_DEADLINE_MS)
}

process.stdin.on('end', shutDown).on('error', shutDown).resume()

const query = `SYSTEM START LISTEN HTTP; SELECT count() FROM file('/dev/fd/${String(readEnd)}', LineAsString)`
// ClickHouse skips the first argument. In a thread of its own, for it blocks until the pipe ends.
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
// It returns by itself only where it could not run; what hindered it is on standard error.
process.exit(requested ? 0 : 1)
