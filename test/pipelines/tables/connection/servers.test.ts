import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Servers, type ServersParts } from '../../../../pipelines/tables/connection/servers.js'

class ServerError extends Error {}

/** Three servers, of which some fail; requests return the index of the server that answered. */
function threeServers(
  failing: ReadonlySet<number>,
  parts: Partial<ServersParts> = {},
): {
  readonly servers: Servers
  readonly request: (server: number) => Promise<number>
  readonly requested: readonly number[]
  readonly moved: readonly number[]
} {
  const moved: number[] = []
  const servers = new Servers({
    count: 3,
    silentMs: 400,
    ping: (server) => Promise.resolve(!failing.has(server)),
    isLevel: () => Promise.resolve(true),
    isOfServer: (error) => error instanceof ServerError,
    isResponse: (error) => error instanceof RangeError,
    onMove: (server) => void moved.push(server),
    ...parts,
  })
  const requested: number[] = []
  const request = (server: number): Promise<number> => {
    requested.push(server)
    return failing.has(server) ? Promise.reject(new ServerError()) : Promise.resolve(server)
  }
  return { servers, request, requested, moved }
}

const always = (): boolean => true
const never = (): boolean => false

describe('several servers with the same data', () => {
  it('are used in their order, and the next one that responds replaces one that fails', async () => {
    const failing = new Set<number>()
    // Checks of servers that are not needed may fail later.
    const isLevel = async (server: number): Promise<boolean> => {
      if (server === 0) await Promise.reject(new ServerError())
      return true
    }
    const { servers, request, moved } = threeServers(failing, { isLevel })
    expect(await servers.run(request, always)).toBe(0)
    for (const each of [0, 1]) failing.add(each)
    expect(await servers.run(request, always)).toBe(2)
    expect(moved).toEqual([2])
    failing.delete(0)
    expect(await servers.run(request, always)).toBe(2)
  })

  it('do not receive a write twice, but the next one goes to a server that responds', async () => {
    const { servers, request, requested } = threeServers(new Set([0]))
    await expect(servers.run(request, never)).rejects.toThrow(ServerError)
    expect(requested).toEqual([0])
    expect(await servers.run(request, never)).toBe(1)
  })

  it('are not left because of an error of the request', async () => {
    const { servers, moved } = threeServers(new Set())
    await expect(servers.run(() => Promise.reject(new RangeError()), always)).rejects.toThrow(RangeError)
    expect(moved).toEqual([])
  })

  it('are not used while they lack a head that the process knows', async () => {
    const lagging = new Set([1, 2])
    const failing = new Set([0])
    const isLevel = (server: number): Promise<boolean> => Promise.resolve(!lagging.has(server))
    const { servers, request, requested } = threeServers(failing, { isLevel })
    await expect(servers.run(request, always)).rejects.toThrow(ServerError)
    expect(requested).toEqual([0])
    lagging.delete(2)
    expect(await servers.run(request, always)).toBe(2)
  })

  it('are left when they are silent, and what waits for them is sent to the next one', async () => {
    const silent = new Set([0])
    const forever = (signal: AbortSignal | undefined): Promise<never> =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    const ping: ServersParts['ping'] = (server, signal) =>
      silent.has(server) ? forever(signal) : Promise.resolve(true)
    const { servers } = threeServers(new Set(), {
      ping,
      isOfServer: (error) => error instanceof Error,
    })
    const waits = (server: number, signal?: AbortSignal): Promise<number> =>
      silent.has(server) ? forever(signal) : Promise.resolve(server)
    expect(await Promise.all([servers.run(waits, always), servers.run(waits, always)])).toEqual([1, 1])
    silent.delete(0)
    silent.add(1)
    await expect(servers.run(waits, never)).rejects.toThrow()
    expect(await servers.run(waits, never)).toBe(2)
  })

  it('are not left while they are silent for less than the limit, nor if no other one responds', async () => {
    const forever = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    const { servers, moved } = threeServers(new Set(), { ping: (_, signal) => forever(signal) })
    const late = (server: number, signal?: AbortSignal): Promise<number> =>
      Promise.race([sleep(1_200).then(() => server), forever(signal as AbortSignal)])
    expect(await servers.run(late, never)).toBe(0)
    expect(moved).toEqual([])
  })

  it('are left when they are silent, even if every request is given up earlier', async () => {
    const ping: ServersParts['ping'] = (server, signal) =>
      server === 0 ? sleep(5_000, true, { signal }) : Promise.resolve(true)
    const { servers, moved } = threeServers(new Set(), { ping })
    const givenUp = (): Promise<never> => sleep(250).then(() => Promise.reject(new Error('given up')))
    for (let tries = 0; moved.length === 0 && tries < 8; tries++)
      await servers.run(givenUp, never).catch(() => undefined)
    expect(moved).toEqual([1])
  })

  it('do not fail a read because they are silent in turn', async () => {
    let tries = 0
    const ping: ServersParts['ping'] = (server, signal) =>
      server === tries % 3 ? sleep(5_000, true, { signal }) : Promise.resolve(true)
    const { servers } = threeServers(new Set(), { ping, isOfServer: () => true })
    const silent = async (server: number, signal?: AbortSignal): Promise<number> => {
      if (tries === 5) return server
      await sleep(5_000, undefined, { signal }).finally(() => tries++)
      throw new Error('not aborted')
    }
    expect(await servers.run(silent, always)).toBe(2)
    expect(tries).toBe(5)
  })

  it('are not left while they answer pings, however long a request takes', async () => {
    let pings = 0
    let end = (): void => undefined
    const ping: ServersParts['ping'] = () => {
      if (++pings === 8) end()
      return Promise.resolve(true)
    }
    const { servers, moved } = threeServers(new Set(), { ping })
    const long = (server: number): Promise<number> =>
      new Promise((resolve) => {
        end = () => {
          resolve(server)
        }
      })
    expect(await servers.run(long, always)).toBe(0)
    expect(moved).toEqual([])
  })
})
