import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format } from 'oxfmt'
import { describe, expect, it } from 'vitest'
import { clientReads } from '../../deploy/client-reads.js'

const ROOT = resolve(import.meta.dirname, '../..')
const FILE = join(ROOT, 'services/client/gen/reads.ts')

describe('the types of the client', () => {
  it('are generated from the declarations: npm run proto', async () => {
    const options = JSON.parse(readFileSync(join(ROOT, '.oxfmtrc.json'), 'utf8'))
    const { code } = await format(FILE, clientReads(), options)
    expect(code).toBe(readFileSync(FILE, 'utf8'))
  })
})
