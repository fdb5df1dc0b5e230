import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { declareRead } from '../../../../../services/explorer/core/reads/read.js'
import { Token } from '../../../../../services/access/token.js'
import { until } from '../../../../harness/until.js'
import { type BareServer, sendRaw, SOCKET_REQUEST, startBare } from '../../bare-server.js'

const secret = declareRead({
  name: 'secret',
  path: '/secret',
  fresh: 'outside',
  needsToken: true,
  args: {},
  answer: Type.Object({ text: Type.String() }),
  resolve: () => Promise.resolve({ text: 'x' }),
})

describe('a rate limit that another process has to be consulted for', () => {
  let bare: BareServer
  const decisions: ((retryMs: number | undefined) => void)[] = []

  beforeAll(async () => {
    const take = () => new Promise<number | undefined>((resolve) => decisions.push(resolve))
    bare = await startBare({
      reads: [secret],
      token: new Token('open'),
      limit: { take, takeNow: () => 'undecided', policy: { name: 'shared', most: 7, windowMs: 60_000 } },
    })
  })
  beforeEach(() => {
    decisions.length = 0
  })
  afterAll(() => {
    bare.close()
  })

  const decide = async (retryMs?: number): Promise<void> => {
    const decision = await until('the limit is consulted', () => decisions.shift())
    decision(retryMs)
  }
  const get = (authorization: string): Promise<Response> =>
    fetch(`${bare.url}/api/v1/secret`, { headers: { authorization } })

  it('delays the answer, which still sees the headers of the request', async () => {
    const answer = get('Bearer open')
    await decide()
    expect((await answer).status).toBe(200)
    const refused = get('Bearer closed')
    await decide()
    expect((await refused).status).toBe(401)
  })

  it('refuses with the time to wait', async () => {
    const answer = get('Bearer open')
    await decide(4_200)
    expect((await answer).status).toBe(429)
    expect((await answer).headers.get('retry-after')).toBe('5')
    expect((await answer).headers.get('ratelimit')).toBe('"shared";r=0;t=5')
    expect((await answer).headers.get('ratelimit-policy')).toBe('"shared";q=7;w=60')
    expect(await (await answer).json()).toMatchObject({ retry_after_ms: 4_200 })
  })

  it('delays and refuses WebSocket connections alike, and survives clients that do not wait', async () => {
    const upgrade = SOCKET_REQUEST.replace('/ws', '/api/v1/ws')
    const accepted = sendRaw(bare.port, upgrade, { answers: 1 })
    await decide()
    expect((await accepted).text).toMatch(/^HTTP\/1\.1 101 /)
    const refused = sendRaw(bare.port, upgrade, { answers: 1 })
    await decide(1_000)
    expect((await refused).text).toMatch(/^HTTP\/1\.1 429 /)
    const leaving = new AbortController()
    const left = fetch(`${bare.url}/api/v1/secret`, { signal: leaving.signal })
    const decision = await until('the limit is consulted', () => decisions.shift())
    leaving.abort()
    await expect(left).rejects.toThrow()
    decision(undefined)
    expect((await fetch(`${bare.url}/health`)).status).toBe(200)
  })
})
