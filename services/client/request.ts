/** The state of the chain that an answer describes. */
export interface ChainState {
  readonly height: number
  /** Hash of the newest block. */
  readonly tip: string
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  /** The height that the answer must describe at least: the request waits for it, and is repeated. */
  readonly minHeight?: number
}

export interface RequesterOptions {
  /** The maximum number of repetitions of a request that failed temporarily; 4 by default. */
  readonly retries?: number
  /** The token for node health, if the operator requires one. */
  readonly token?: string
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** The code of an explorer's error; UNREACHABLE without an answer, BEHIND for one below `minHeight`, and UNKNOWN for one of a proxy. */
type Code = `HW_${string}` | 'UNREACHABLE' | 'BEHIND' | 'UNKNOWN'

/** Thrown if a request has no answer. */
export class ExplorerError extends Error {
  override readonly name = 'ExplorerError'

  constructor(
    /** The text of the explorer. */
    message: string,
    readonly code: Code,
    /** The HTTP status; 0 without an answer. */
    readonly status: number,
    /** Milliseconds after which the explorer may have an answer; undefined if it did not name a time. */
    readonly retryAfterMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  /** True if the request may succeed later. */
  get isTemporary(): boolean {
    return [0, 200, 429, 502, 503, 504].includes(this.status)
  }
}

const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 10_000
const RETRIES = 4

const states = new WeakMap<object, ChainState>()

/** Returns the state that an answer describes; undefined for node health, which does not depend on the chain. */
export const stateOf = (answer: object): ChainState | undefined => states.get(answer)

/** Requests reads, and repeats requests that fail temporarily. */
export class Requester {
  constructor(
    private readonly base: string,
    private readonly options: RequesterOptions,
  ) {}

  /**
   * Requests a read.
   * @param read its path, after its method if that is not GET, and after a `?` the argument that selects a page.
   * @throws ExplorerError; the reason of the signal if it aborts.
   */
  async request(
    read: string,
    args: Readonly<Record<string, unknown>>,
    options: RequestOptions,
  ): Promise<object> {
    const [path = '', method] = read.split(' ').reverse()
    const url = this.base + pathOf(path, method === undefined ? args : {})
    const body = method === undefined ? undefined : JSON.stringify(args)
    const { retries = RETRIES } = this.options
    for (let attempt = 0; ; attempt++) {
      const result = await this.#once(url, body, options)
      if (!(result instanceof ExplorerError)) return result
      if (attempt >= retries || !result.isTemporary) throw result
      await pause(result.retryAfterMs ?? pauseMs(attempt), options.signal)
    }
  }

  /** @param body of a POST request. */
  async #once(url: string, body: string | undefined, { signal, minHeight }: RequestOptions): Promise<object> {
    const { token, fetch: send = fetch } = this.options
    const headers: Record<string, string> = {}
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`
    if (minHeight !== undefined) headers['x-min-chain-height'] = String(minHeight)
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      const response = await send(url, {
        headers,
        ...(body === undefined ? {} : { method: 'POST', body }),
        ...(signal === undefined ? {} : { signal }),
      })
      const text = await response.text()
      if (!response.ok) return failureOf(response, text)
      const answer = JSON.parse(text) as object
      const height = response.headers.get('x-chain-height')
      if (height === null) return answer
      if (minHeight !== undefined && Number(height) < minHeight)
        return new ExplorerError(
          `the explorer is at height ${height}, below ${String(minHeight)}`,
          'BEHIND',
          200,
          0,
        )
      states.set(answer, { height: Number(height), tip: response.headers.get('x-chain-tip') ?? '' })
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      return new ExplorerError(`${url} is unreachable`, 'UNREACHABLE', 0, undefined, { cause: error })
    }
  }
}

/** Returns the path and query of a read. */
function pathOf(read: string, args: Readonly<Record<string, unknown>>): string {
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined))
  const [pattern = ''] = read.split('?')
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => {
    const value = rest.get(name)
    rest.delete(name)
    return encodeURIComponent(String(value))
  })
  const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)])).toString()
  return `/api/v1${path}${query === '' ? '' : `?${query}`}`
}

/** Returns the error of an answer. Bodies whose fields the contract lists exactly have no code. */
function failureOf({ status, statusText, headers }: Response, text: string): ExplorerError {
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  let body: Readonly<Record<string, unknown>> = {}
  try {
    body = JSON.parse(text) as typeof body
  } catch {
    // The page of a proxy.
  }
  const { error = statusText, code = impliedCode(status, body), retry_after_ms: exactly } = body
  const retryAfterMs = typeof exactly === 'number' ? exactly : Number.isNaN(after) ? undefined : after * 1000
  return new ExplorerError(String(error), code as Code, status, retryAfterMs)
}

function impliedCode(status: number, body: Readonly<Record<string, unknown>>): Code {
  if (status === 429) return 'HW_RATE_LIMITED'
  if (status === 404 && body['error'] === 'Address not found') return 'HW_ADDRESS_NOT_FOUND'
  return status === 503 && 'indexedHeight' in body ? 'HW_SYNCING' : 'UNKNOWN'
}

/** Returns a pause that doubles with each attempt. Random, so that clients do not all return at once. */
export function pauseMs(attempt: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt) * (0.5 + Math.random() / 2)
}

/** Waits. @throws the reason of the signal if it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, ms)
    signal?.addEventListener('abort', aborted)
  })
}
