import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import { Disk } from '../../chaos/disk.js'

const folder = mkdtempSync(join(tmpdir(), 'headwater-full-'))
const disk = Disk.mount(join(folder, 'disk'), 8)

afterAll(() => {
  disk?.unmount()
  rmSync(folder, { recursive: true, force: true })
})

// An unhandled rejection of the driver ended the process; vitest counts one as a failure of the run.
describe.skipIf(disk === undefined)(
  'the embedded log on a full disk (skipped if no file system may be mounted)',
  () => {
    it('refuses what does not fit, keeps the rest, and continues when there is room', async () => {
      if (disk === undefined) throw new Error('no disk')
      const log = await openEmbeddedLog(join(disk.folder, 'log'))
      const kept = await log.append('chain', [Buffer.from('kept')])
      disk.fill(0)
      for (let attempt = 0; attempt < 3; attempt++)
        await expect(log.append('chain', [Buffer.alloc(200_000), Buffer.alloc(200_000)])).rejects.toThrow()
      expect(await log.last('chain')).toBe(kept)
      disk.free()
      expect(await log.append('chain', [Buffer.alloc(200_000)])).toBe(kept + 1)
      const [first] = await log.read('chain', kept, 1)
      expect(Buffer.from(first?.value ?? []).toString()).toBe('kept')
      await log.close()
    })
  },
)
