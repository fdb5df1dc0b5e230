import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { residentBytesOf, ServiceProcess } from './processes.js'
import { until } from './until.js'

const MB = 1024 ** 2

it('includes the processes that a process has started in its size, as the engine is one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-size-'))
  await mkdir(join(folder, 'dist'))
  // The child ends with its parent, because its standard input is closed then.
  const child = `globalThis.kept = Buffer.alloc(100 * ${String(MB)}, 1); process.stdin.resume()`
  await writeFile(
    join(folder, 'dist/parent.js'),
    `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}])`,
  )
  const parent = new ServiceProcess('parent', {}, join(folder, 'parent.log'), [], 'parent.js', folder).start()
  try {
    await until('the child is counted', () => parent.rssMb() > 100 + residentBytesOf(parent.pid ?? 0) / MB)
    expect(parent.peakMb).toBeGreaterThan(100)
  } finally {
    await parent.kill()
    await rm(folder, { recursive: true })
  }
})
