import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../../services/config.js'
import { supervise } from '../../../../../services/explorer/host/processes/supervisor.js'

describe('several processes of an explorer', () => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform')!

  afterEach(() => {
    Object.defineProperty(process, 'platform', platform)
  })

  it('are refused where the operating system gives all connections to one process', async () => {
    Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' })
    const context = {
      config: loadConfig({ EXPLORER_PROCESSES: '4' }),
      logger: pino({ level: 'silent' }),
      signal: new AbortController().signal,
      args: [],
    }
    await expect(supervise(context)).rejects.toThrow('EXPLORER_PROCESSES is 4, which needs Linux')
  })
})
