import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { UsageError } from '../../../pipelines/errors.js'
import { createLogger } from '../../../services/process/logger.js'

it('writes the code of an error at the top of its line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-logger-'))
  try {
    const file = join(folder, 'log')
    const logger = createLogger('poller', 'info', openSync(file, 'a'))
    logger.warn({ err: new UsageError('wrong'), height: 7 }, 'refused')
    logger.error({ err: new TypeError('ours') }, 'failed')
    logger.info({ height: 8 }, 'block applied')
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const [refused, failed, applied] = lines.map((line) => JSON.parse(line) as object)
    const err = { type: 'UsageError', message: 'wrong', code: 'HW_USAGE' }
    expect(refused).toMatchObject({ service: 'poller', code: 'HW_USAGE', height: 7, msg: 'refused', err })
    expect(failed).toMatchObject({ code: 'HW_DEFECT', err: { type: 'TypeError' } })
    expect(applied).toMatchObject({ height: 8, msg: 'block applied' })
    expect(applied).not.toHaveProperty('code')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
