import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdFolder } from '../../../services/process/only-one.js'

describe('the folder of a supervisor', () => {
  it('is held by one process at a time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-start-'))
    const letGo = await holdFolder(folder)
    await expect(holdFolder(folder)).rejects.toThrow(folder)
    letGo()
    const again = await holdFolder(folder)
    again()
    await rm(folder, { recursive: true, force: true })
  })
})
