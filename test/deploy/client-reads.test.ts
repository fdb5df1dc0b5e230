import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { describe, expect, it } from 'vitest'
import { clientReads } from '../../deploy/client-reads.js'

const FILE = join(resolve(import.meta.dirname, '../..'), 'services/client/gen/reads.ts')

describe('the types of the client', () => {
  it('are generated from the declarations: npm run proto', async () => {
    const config = await resolveConfig(FILE, { editorconfig: false })
    expect(await format(clientReads(), { ...config, filepath: FILE })).toBe(readFileSync(FILE, 'utf8'))
  })
})
