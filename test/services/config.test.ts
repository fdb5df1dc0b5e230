import { resolve } from 'node:path'
import { describe as suite, expect, it } from 'vitest'
import { NETWORKS } from '../../pipelines/chain/networks.js'
import { ConfigError, describe, loadConfig } from '../../services/config.js'

suite('the configuration', () => {
  it('has defaults that work without any variable', () => {
    const config = loadConfig({})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      explorerPort: 8080,
      pollIntervalMs: 1000,
      finalityDepth: 500,
    })
    expect(config.dataDir).toBe(resolve('.data'))
    expect(config.nodeRpcUrl).toBeUndefined()
    expect(config.clickhouseUrl).toBeUndefined()
  })

  it('reports all errors together, each with the allowed values', () => {
    const env = {
      EXPLORER_PORT: '70000',
      POLL_INTERVAL_MS: '1.5',
      CHAIN: 'dogecoin',
      CLICKHOUSE_URL: 'http://a:8123,ftp://x',
    }
    const error = thrownBy(() => loadConfig(env))
    expect(error.errors).toEqual([
      "EXPLORER_PORT must be an integer 0 to 65535, got '70000'",
      `CHAIN must be one of ${[...NETWORKS.keys()].join(', ')}, got 'dogecoin'`,
      'CLICKHOUSE_URL must be URLs (http, https), separated by commas',
      "POLL_INTERVAL_MS must be an integer 10 to 3600000, got '1.5'",
    ])
    for (const fault of error.errors) expect(error.message).toContain(fault)
  })

  it('has a base path without a slash at its end', () => {
    const of = (text: string) => loadConfig({ BASE_PATH: text }).basePath
    expect([of(''), of('/'), of('/a'), of('/a/b-1.x/')]).toEqual([undefined, '', '/a', '/a/b-1.x'])
    for (const text of ['a', 'https://x/a', '//x', '/a?b', '/a b', '/"'])
      expect(() => of(text), text).toThrow('BASE_PATH must be a path such as /explorer')
  })

  it('treats an empty variable as not set and ignores unknown ones', () => {
    expect(loadConfig({ EXPLORER_PORT: '', NODE_RPC_URL: ' ', SOMETHING_ELSE: 'x' }).explorerPort).toBe(8080)
  })

  it.each(['1e3', '0x10', ' ', '-1', '12345678901234567890'])(
    'refuses %j as a number or treats it as not set',
    (text) => {
      const attempt = (): number => loadConfig({ EXPLORER_PORT: text }).explorerPort
      if (text.trim() === '') expect(attempt()).toBe(8080)
      else expect(attempt).toThrow(ConfigError)
    },
  )

  it('shows no credentials: not in a URL, not in its query, not in an error', () => {
    const config = loadConfig({
      NODE_RPC_URL: 'http://rpcuser:rpcpassword@127.0.0.1:8332/wallet',
      CLICKHOUSE_URL: 'http://127.0.0.1:8123/?password=hunter2&user=me, http://me:hunter2@second:8123',
      KAFKA_PASSWORD: 'hunter2',
    })
    const shown = JSON.stringify(describe(config))
    for (const secret of ['rpcuser', 'rpcpassword', 'hunter2']) expect(shown).not.toContain(secret)
    expect(shown).toContain('127.0.0.1:8332/wallet')
    expect(shown).toContain('second:8123')
    const error = thrownBy(() => loadConfig({ NODE_RPC_URL: 'ftp://rpcuser:rpcpassword@host' }))
    expect(error.message).not.toContain('rpcpassword')
    const log = thrownBy(() => loadConfig({ LOG_URL: 'kafka://me:hunter2@host:9092' }))
    expect(log.message).not.toContain('hunter2')
  })

  it.each(['HEALTH_API_TOKEN', 'AGENT_API_KEY'])('refuses a %s that no header can contain', (env) => {
    for (const text of ['schlüssel', '密', 'a\tb', 'a\u007f']) {
      const { errors } = thrownBy(() => loadConfig({ [env]: text }))
      expect(errors).toEqual([`${env} must be a secret (printable ASCII)`])
    }
    expect(describe(loadConfig({ [env]: '!the key~' }))[env]).toBe('***')
  })
})

function thrownBy(action: () => unknown): ConfigError {
  try {
    action()
  } catch (error) {
    if (error instanceof ConfigError) return error
  }
  throw new Error('no ConfigError was thrown')
}
