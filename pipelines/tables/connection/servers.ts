/** The requests and answers of servers, as `Servers` needs them. */
export interface ServersParts {
  readonly count: number
  /** Milliseconds of silence after which a server is left. */
  readonly silentMs: number
  /** Returns whether a server responds; rejects or returns false otherwise. */
  readonly ping: (server: number, signal: AbortSignal) => Promise<boolean>
  /** Returns whether a server has at least the heads that this process knows. */
  readonly isLevel: (server: number, signal: AbortSignal) => Promise<boolean>
  /** Returns whether an error is one of the server, so that another one may succeed. */
  readonly isOfServer: (error: unknown) => boolean
  /** Returns whether an error is the response of a server, not a failure of the connection and not the caller's cancellation. */
  readonly isResponse: (error: unknown) => boolean
  /** Called when another server replaces the server in use. */
  readonly onMove: (server: number) => void
}

/** Silence is counted in ticks because this process may itself be late: whatever has arrived is read between two ticks. */
const TICK_MS = 100
const CHECK_MS = 500

/**
 * Several servers with the same data, one of which a process uses. If it fails, the process switches over to the next server that responds
 * and has the newest head that the process knows: no reader goes back to an older state. With a single server, nothing is checked.
 */
export class Servers {
  #current = 0
  #leaving: Promise<boolean> | undefined
  /** The requests in flight, with their server. */
  readonly #inFlight = new Map<AbortController, number>()
  #hasResponded = false
  /** The number of ticks without a response, including ticks of requests that were given up. */
  #silentTicks = 0
  #isPinging = false
  #timer: NodeJS.Timeout | undefined

  constructor(private readonly parts: ServersParts) {}

  /**
   * Sends a request to the server in use.
   * @param request aborts when its signal does.
   * @param mayRepeat whether the request may be sent to another server after an error.
   */
  async run<T>(
    request: (server: number, signal?: AbortSignal) => Promise<T>,
    mayRepeat: (error: unknown) => boolean,
  ): Promise<T> {
    const { count, isOfServer } = this.parts
    if (count === 1) return request(0)
    for (let failures = 0; ;) {
      const server = this.#current
      const silence = new AbortController()
      try {
        return await this.#watched(server, silence, request)
      } catch (error) {
        if (!isOfServer(error)) throw error
        // Servers that are silent in turn are busy: the request waits until its caller gives up.
        if (!silence.signal.aborted) failures++
        if (!(await this.leave(server)) || failures >= count || !mayRepeat(error)) throw error
      }
    }
  }

  /** Moves to another server. Concurrent calls share the search. @returns whether one is available. */
  async leave(server: number): Promise<boolean> {
    if (this.#current !== server) return true
    this.#leaving ??= this.#search(server).finally(() => {
      this.#leaving = undefined
    })
    return this.#leaving
  }

  async #search(server: number): Promise<boolean> {
    const { count, ping, isLevel } = this.parts
    const others = Array.from({ length: count - 1 }, (_, at) => (server + 1 + at) % count)
    const isUsable = async (other: number): Promise<boolean> => {
      const signal = AbortSignal.timeout(CHECK_MS)
      return (await ping(other, signal)) && isLevel(other, signal)
    }
    const checks = others.map((other) => isUsable(other).catch(() => false))
    // In the order of preference.
    for (const [at, check] of checks.entries()) {
      if (!(await check)) continue
      this.#current = others[at] ?? server
      this.#silentTicks = 0
      this.parts.onMove(this.#current)
      return true
    }
    return false
  }

  /** @param silence aborted when the server is left because it is silent. */
  async #watched<T>(
    server: number,
    silence: AbortController,
    request: (server: number, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    this.#inFlight.set(silence, server)
    this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref()
    try {
      const response = await request(server, silence.signal)
      this.#hasResponded = true
      return response
    } catch (error) {
      if (this.parts.isResponse(error)) this.#hasResponded = true
      throw error
    } finally {
      this.#inFlight.delete(silence)
      if (this.#inFlight.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
  }

  /** Leaves a server that accepts connections but is silent, and aborts the requests that wait for it. */
  async #tick(): Promise<void> {
    const server = this.#current
    this.#silentTicks = this.#hasResponded ? 0 : this.#silentTicks + 1
    this.#hasResponded = false
    void this.#pingOnce(server)
    if (this.#silentTicks * TICK_MS < this.parts.silentMs || !(await this.leave(server))) return
    for (const [silence, of] of this.#inFlight)
      if (of === server) silence.abort(new Error('the server does not respond'))
  }

  async #pingOnce(server: number): Promise<void> {
    if (this.#isPinging) return
    this.#isPinging = true
    const signal = AbortSignal.timeout(this.parts.silentMs)
    const isUp = await this.parts.ping(server, signal).catch(() => false)
    this.#isPinging = false
    if (isUp && server === this.#current) this.#hasResponded = true
  }
}
