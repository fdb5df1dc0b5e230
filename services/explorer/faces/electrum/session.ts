import { setMaxListeners } from 'node:events'
import type { Origin } from '../../../access/client-address.js'
import type { Encoding } from '../../core/answering/encoding.js'
import { DEFECT, type Failure, NOT_READY } from '../../core/answering/failure.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { OnDisconnect } from '../../core/answering/shared-answer.js'
import type { Commands, Core } from '../../core/core.js'
import { parseArguments } from '../../core/reads/arguments.js'
import { NotFound, type ReadContext } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { pause } from '../../../../pipelines/pause.js'
import type { Conversation } from './conversation.js'
import { tipOf } from './reads/headers.js'
import type { Status } from './reads/histories.js'
import {
  type Call,
  callOf,
  errorText,
  type Form,
  formOf,
  notificationText,
  parsed,
  resultText,
} from './messages.js'
import { type CallMethod, type Method, methodOf, type Wanted } from './methods.js'
import type { Hosts } from './hosts.js'
import { CODE, isPassing, Refusal, refusalOf } from './refusal.js'
import type { Shares } from './shares.js'
import type { Turns } from './turns.js'
import { valuesOf } from './values.js'
import { compare, LEAST, negotiated, PROTOCOL, type Version } from './version.js'
import type { HeaderWatch } from './watches/header-watch.js'
import type { StatusWatch } from './watches/status-watch.js'

/** The parts of the face that all sessions share. */
export interface Shared {
  readonly core: Core
  readonly limit: RequestLimit
  readonly headers: HeaderWatch
  readonly statuses: StatusWatch
  /** The subscriptions to scripts of all clients. */
  readonly subscriptions: Shares
  /** Returns the client of a connection, as limits count it. */
  readonly clientOf: (origin: Origin) => string
  /** The addresses at which clients reach the server, as `server.features` lists them. */
  readonly hosts: Hosts
  readonly turns: Turns
  /** Called after each answer. @param code of its error, 0 for none. */
  readonly observe: (method: string, code: number, seconds: number) => void
  /** Called after each message to a subscriber. */
  readonly notified: (method: string) => void
}

/** The client of a session. */
export interface Client {
  readonly origin: Origin
  /** Sends an answer. Resolves when the client has room for the next one, or has disconnected. */
  readonly answer: (message: string) => Promise<void>
  /** Sends a message of a subscription. */
  readonly send: (message: string) => void
  /** Disconnects after the messages that were sent. */
  readonly end: () => void
}

/**
 * The name of the server. Wallets decide by it what the server can do: Sparrow sends batches only to names that it knows, or that contain
 * the name of ElectrumX.
 */
const SOFTWARE = 'Headwater (ElectrumX compatible)'
/** The maximum number of requests of a batch. */
const MAX_BATCH = 1_000
/** The requests of a batch that count as one answer in progress: their lookups share queries. */
const BATCHED_PER_ANSWER = 10
/** The requests of a batch that share no queries, of which so many are answered at once. */
const ALONE_AT_ONCE = 4
const MAX_SUBSCRIPTIONS = 50_000
/** The bytes of an answer that count as one request against the rate limit. */
const BYTES_PER_REQUEST = 5_000
/** The maximum size of a message of a client. */
export const MAX_MESSAGE_BYTES = 1_000_000
/** The maximum size of an answer: the longest history fits. */
const MAX_ANSWER_BYTES = 10_000_000
/** The time for which a request is repeated that cannot be answered at the moment: clients take an error for a fault of the server. */
const PATIENCE_MS = 10_000
const REPEAT_MS = 50
/** The maximum time after which the rate limit is asked again. */
const LIMIT_WAIT_MS = 5_000

/** JSON without an ETag. */
export const ELECTRUM: Encoding = {
  name: 'electrum',
  encode: (answer) => ({
    body: Buffer.from(answer instanceof WrittenAnswer ? answer.json : JSON.stringify(answer)),
    etag: '',
  }),
}

/** The error of ElectrumX, at whose code BlueWallet repeats a request of a batch by itself. */
const TOO_LARGE = new Refusal(
  CODE.invalidRequest,
  `response too large (over ${String(MAX_ANSWER_BYTES)} bytes)`,
)

/** The conversation with one client, over any transport. */
export class Session implements Conversation {
  readonly #shared: Shared
  readonly #client: Client
  /** The client as limits count it. */
  readonly #share: string
  readonly #stop = new AbortController()
  /** Callbacks of the answers in progress for the disconnect. */
  readonly #disconnect = new Set<() => void>()
  #form: Form | undefined
  #version: Version | undefined
  /** The status of each subscribed script as the client knows it; undefined before the answer to the subscription. */
  readonly #statuses = new Map<string, string | null | undefined>()
  #tip: string | undefined
  /** The number of answers that are made and not sent, after which messages about what they say must come. */
  #unsent = 0
  /** The scripts, and the tip, that have changed meanwhile. */
  readonly #changed = new Set<string>()
  #newTip: readonly [hash: string, tip: string] | undefined
  /** The requests that the sizes of former answers count as, and that no limit has counted. */
  #debt = 0

  constructor(shared: Shared, client: Client) {
    this.#shared = shared
    this.#client = client
    // One for each request that waits.
    setMaxListeners(0, this.#stop.signal)
    this.#share = shared.clientOf(client.origin)
  }

  /** True after `server.version`, or a request without it. */
  get isIdentified(): boolean {
    return this.#version !== undefined
  }

  get commands(): Commands | undefined {
    return this.#shared.core.commands
  }

  get origin(): Origin {
    return this.#client.origin
  }

  isAtLeast(version: Version): boolean {
    return compare(this.#version ?? LEAST, version) >= 0
  }

  /** Ends the subscriptions, and the answers in progress. */
  close(): void {
    this.#stop.abort()
    for (const callback of this.#disconnect) callback()
    this.#disconnect.clear()
    this.#shared.headers.remove(this)
    for (const hash of this.#statuses.keys()) this.#shared.statuses.remove(hash, this)
    this.#shared.subscriptions.give(this.#share, this.#statuses.size)
    this.#statuses.clear()
  }

  /** Answers a message, which may be a batch. Sends nothing if the client wants no answer. */
  async receive(message: Uint8Array | string): Promise<void> {
    const make = await this.#answer(message)
    if (make === undefined || this.#stop.signal.aborted) return
    const answer = make()
    this.#unsent++
    this.#debt += Math.floor(answer.length / BYTES_PER_REQUEST)
    await this.#client.answer(answer)
    if (--this.#unsent === 0) this.#sendChanges()
  }

  /** Sends what has changed since answers were made that are sent now. */
  #sendChanges(): void {
    for (const hash of this.#changed) this.#shared.statuses.check(hash)
    this.#changed.clear()
    if (this.#newTip !== undefined) this.tipChanged(...this.#newTip)
    this.#newTip = undefined
  }

  /** Returns a function that makes the answer to a message: what it says is what the client knows from then on. */
  async #answer(received: Uint8Array | string): Promise<(() => string) | undefined> {
    let message: unknown
    try {
      message = parsed(received)
    } catch (error) {
      if (error instanceof Refusal) return () => errorText(this.#form ?? '2.0', null, error)
      throw error
    }
    const form = (this.#form ??= formOf(message))
    if (Array.isArray(message)) return this.#batch(message)
    const call = callOf(message)
    if (call === undefined) return undefined
    if ('refusal' in call) return () => errorText(form, call.id, call.refusal)
    const prepared = this.#prepared(call)
    if (!prepared.isLimited) return this.#single(prepared)
    await this.#withinLimit(1)
    return this.#single(prepared)
  }

  /** Waits until the client may send so many requests, and has paid for its former answers. */
  async #withinLimit(requests: number): Promise<void> {
    const { limit } = this.#shared
    const { signal } = this.#stop
    const cost = requests + this.#debt
    this.#debt = 0
    for (;;) {
      const failure = await limit.over(() => this.origin, cost)
      if (failure === undefined || signal.aborted) return
      await pause(Math.min(failure.retryMs ?? LIMIT_WAIT_MS, LIMIT_WAIT_MS), signal)
    }
  }

  /** Finds the method of a call, and checks its parameters. */
  #prepared(call: Call): Prepared {
    const name = typeof call.method === 'string' ? call.method : ''
    try {
      const method = methodOf(call.method, this.#version ?? LEAST)
      if (name !== 'server.version') this.#version ??= LEAST
      const values = valuesOf(name, method, call.params)
      if ('read' in method) return { call, name, method, wanted: method.read(values, this), isLimited: true }
      const run = (): CallResult => method.call(values, this)
      if (name !== 'server.version') return { call, name, method, isLimited: name !== 'server.ping', run }
      // At once, because the next requests are those of the version.
      const identified = run()
      return { call, name, method, isLimited: false, run: () => identified }
    } catch (error) {
      return { call, name: 'unknown', refusal: this.#refusalOf(error), isLimited: true }
    }
  }

  async #single(prepared: Prepared): Promise<() => string> {
    const began = performance.now()
    const result = await this.#result(prepared).catch((error: unknown) => this.#refusalOf(error))
    return () => this.#text(prepared, result, began)
  }

  #text(
    { call, name, method, wanted }: Prepared,
    outcome: string | Failure | Refusal,
    began: number,
  ): string {
    const form = this.#form ?? '2.0'
    let result: string | Refusal
    if (typeof outcome === 'string') result = wanted?.result?.(outcome) ?? outcome
    else if (outcome instanceof Refusal) result = outcome
    else result = refusalOf(outcome, method !== undefined && 'absent' in method ? method.absent : undefined)
    if (typeof result === 'string' && result.length > MAX_ANSWER_BYTES) result = TOO_LARGE
    const code = typeof result === 'string' ? 0 : result.rpcCode
    this.#shared.observe(name, code, (performance.now() - began) / 1_000)
    return typeof result === 'string' ? resultText(form, call.id, result) : errorText(form, call.id, result)
  }

  /** Returns the error of a request. Other errors than refusals are defects. */
  #refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    this.#shared.core.defect(error, 'electrum')
    return refusalOf(DEFECT)
  }

  async #result({ refusal, run, wanted }: Prepared): Promise<string | Failure | Refusal> {
    if (refusal !== undefined) return refusal
    if (run !== undefined) return this.#patiently(async () => run())
    return wanted === undefined ? DEFECT : this.read(wanted)
  }

  /** Answers a read, as JSON. */
  read({ read, args }: Wanted): Promise<string | Failure> {
    return this.#patiently(() =>
      this.#shared.turns.during(1, () =>
        this.#connected(async (onDisconnect) => {
          const outcome = await this.#shared.core.reader.answer(read, {
            argument: (name) => args[name],
            minChainHeight: '',
            onDisconnect,
            authorization: () => '',
            encoding: ELECTRUM,
          })
          return 'answer' in outcome ? outcome.answer.body.toString() : outcome
        }),
      ),
    )
  }

  /** Answers the requests of a batch; its reads from one state. */
  async #batch(messages: readonly unknown[]): Promise<(() => string) | undefined> {
    const form = this.#form ?? '2.0'
    const refused = (text: string) => () => errorText(form, null, new Refusal(CODE.invalidRequest, text))
    if (messages.length === 0) return refused('batch is empty')
    // By these words BlueWallet knows that the answer is to a batch.
    if (messages.length > MAX_BATCH)
      return refused(`Batch limit exceeded: at most ${String(MAX_BATCH)} requests`)
    await this.#withinLimit(messages.length)
    const began = performance.now()
    const calls = messages.map(callOf).filter((call) => call !== undefined)
    const prepared = calls.map((call) => ('refusal' in call ? call : this.#prepared(call)))
    const reads = prepared.flatMap((each) =>
      'call' in each && each.wanted !== undefined ? [each.wanted] : [],
    )
    const results = new Map<unknown, string | Failure | Refusal>(await this.#answered(reads))
    for (const each of prepared)
      if ('call' in each && each.wanted === undefined)
        results.set(each, await this.#result(each).catch((error: unknown) => this.#refusalOf(error)))
    if (prepared.length === 0) return undefined
    return () => {
      let bytes = 0
      const texts = prepared.map((each) => {
        if (!('call' in each)) return errorText(form, each.id, each.refusal)
        const text = this.#text(each, results.get(each.wanted ?? each) ?? DEFECT, began)
        bytes += text.length
        return bytes <= MAX_ANSWER_BYTES ? text : errorText(form, each.call.id, TOO_LARGE)
      })
      return `[${texts.join(',')}]`
    }
  }

  /**
   * Answers the reads of a batch, as JSON. Those that share no queries are answered a few at a time: a thousand of them at once would
   * take the database from other clients, and exceed the time of an answer.
   */
  async #answered(reads: readonly Wanted[]): Promise<Answers> {
    const answers = [...(await this.#together(reads.filter(({ isAlone }) => isAlone !== true)))]
    const alone = reads.filter(({ isAlone }) => isAlone === true)
    let passing: Failure | undefined
    for (let from = 0; from < alone.length && !this.#stop.signal.aborted; from += ALONE_AT_ONCE) {
      const some = alone.slice(from, from + ALONE_AT_ONCE).map(async (wanted) => {
        const answer = passing ?? (await this.read(wanted))
        return [wanted, answer] as const
      })
      answers.push(...(await Promise.all(some)))
      passing = answers.map(([, answer]) => answer).find(isPassingFailure)
    }
    return answers
  }

  /** Answers reads from one state, as JSON, and again for a while if some cannot be answered at the moment. */
  async #together(reads: readonly Wanted[]): Promise<Answers> {
    const [only] = reads
    if (only === undefined) return []
    if (reads.length === 1) return [[only, await this.read(only)]]
    const outcome = await this.#patiently(async () => {
      const answers = await this.readAll(reads)
      const passing = answers.map(([, answer]) => answer).find(isPassingFailure)
      return passing === undefined ? answers : { ...passing, answers }
    })
    return 'answers' in outcome ? outcome.answers : (outcome as Answers)
  }

  /** Answers reads from one state, as JSON, each with a failure that cannot be answered at the moment. */
  async readAll(reads: readonly Wanted[]): Promise<Answers> {
    const weight = Math.ceil(reads.length / BATCHED_PER_ANSWER)
    const made = await this.#shared.turns.during(weight, () =>
      this.#connected((onDisconnect) =>
        this.#shared.core.reader
          .operation(
            (context, absence) =>
              Promise.all(
                reads.map(
                  async (wanted) => [wanted, await this.#resolved(wanted, context, absence)] as const,
                ),
              ),
            { minChainHeight: '', onDisconnect, weight },
          )
          .catch((error: unknown) => {
            this.#shared.core.defect(error, 'electrum batch')
            return DEFECT
          }),
      ),
    )
    return 'result' in made ? made.result : reads.map((wanted) => [wanted, made])
  }

  /** Resolves a read of a batch. */
  async #resolved(
    { read, args }: Wanted,
    context: ReadContext,
    absence: (from: number) => Failure | undefined,
  ): Promise<string | Failure> {
    try {
      const parsedArgs = parseArguments(read.args, (name) => args[name])
      const answer: unknown = await read.resolve(context, parsedArgs as never)
      if (answer instanceof WrittenAnswer) return answer.json
      const from = read.emptyFrom?.(parsedArgs as never, answer as never)
      return (from === undefined ? undefined : absence(from)) ?? JSON.stringify(answer)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      if (error instanceof NotFound)
        return absence(error.from) ?? { code: error.code, message: error.message }
      return this.#shared.core.reader.failureOf(error)
    }
  }

  /** Repeats a request for a while that cannot be answered at the moment. */
  async #patiently<T>(make: () => Promise<T | Failure>): Promise<T | Failure> {
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const outcome = await make()
      const { signal } = this.#stop
      if (!isFailure(outcome) || !isPassing(outcome) || performance.now() >= end || signal.aborted)
        return outcome
      await pause(REPEAT_MS, signal)
    }
  }

  /** Cancels an answer when the client disconnects before it. */
  async #connected<T>(make: (onDisconnect: OnDisconnect) => Promise<T>): Promise<T> {
    const callbacks: (() => void)[] = []
    try {
      return await make((callback) => {
        if (this.#stop.signal.aborted) callback()
        else {
          callbacks.push(callback)
          this.#disconnect.add(callback)
        }
      })
    } finally {
      for (const callback of callbacks) this.#disconnect.delete(callback)
    }
  }

  identify(requested: unknown): string {
    if (this.#version !== undefined) throw new Refusal(CODE.badRequest, 'server.version already sent')
    try {
      this.#version = negotiated(requested)
    } catch (error) {
      this.#client.end()
      throw error
    }
    return JSON.stringify([SOFTWARE, this.#version.join('.')])
  }

  features(): string | Failure {
    const { chain } = this.#shared.core.reader
    if (chain.height < 0) return NOT_READY
    return JSON.stringify({
      hosts: this.#shared.hosts,
      pruning: null,
      server_version: SOFTWARE,
      protocol_min: PROTOCOL.least,
      protocol_max: PROTOCOL.most,
      genesis_hash: chain.blocks.hashAt(0),
      hash_function: 'sha256',
      services: [],
    })
  }

  banner(): string {
    return JSON.stringify(`You are connected to ${SOFTWARE}.`)
  }

  subscribeHeaders(): string | Failure {
    const { reader } = this.#shared.core
    if (reader.notReady !== undefined) return reader.notReady
    const tip = tipOf(reader.chain)
    if (tip === undefined) return NOT_READY
    this.#assertConnected()
    this.#shared.headers.add(this)
    this.#tip = reader.chain.tipHash
    return tip
  }

  /** Sends the header of the tip, unless the client has it. */
  tipChanged(hash: string, tip: string): void {
    if (this.#unsent > 0) {
      this.#newTip = [hash, tip]
      return
    }
    if (this.#tip === hash) return
    this.#tip = hash
    this.#notify('blockchain.headers.subscribe', `[${tip}]`)
  }

  /** Checks that nothing is subscribed to for a client that has gone: nothing would end it. @throws Refusal. */
  #assertConnected(): void {
    if (this.#stop.signal.aborted) throw new Refusal(CODE.busy, 'disconnected')
  }

  subscribe(hash: string): (json: string) => string {
    const { statuses, subscriptions } = this.#shared
    this.#assertConnected()
    if (!this.#statuses.has(hash)) {
      if (this.#statuses.size >= MAX_SUBSCRIPTIONS)
        throw new Refusal(CODE.excessive, `at most ${String(MAX_SUBSCRIPTIONS)} scripts of a connection`)
      if (!subscriptions.take(this.#share)) throw new Refusal(CODE.excessive, 'too many subscriptions')
      this.#statuses.set(hash, undefined)
      statuses.add(hash, this)
    }
    const before = statuses.changesOf(hash)
    return (json) => {
      const { status, isUnconfirmed } = JSON.parse(json) as Status
      if (this.#statuses.has(hash)) this.#statuses.set(hash, status)
      if (isUnconfirmed) statuses.isUnconfirmed(hash)
      // The change may have been compared before this client knew a status.
      if (statuses.changesOf(hash) !== before) statuses.check(hash)
      return JSON.stringify(status)
    }
  }

  unsubscribe(hash: string): boolean {
    if (!this.#statuses.delete(hash)) return false
    this.#shared.statuses.remove(hash, this)
    this.#shared.subscriptions.give(this.#share, 1)
    return true
  }

  /** Sends the status of a script, unless the client knows it. */
  statusChanged(hash: string, status: string | null): void {
    if (this.#unsent > 0) {
      this.#changed.add(hash)
      return
    }
    const known = this.#statuses.get(hash)
    if (known === undefined || known === status) return
    this.#statuses.set(hash, status)
    this.#notify('blockchain.scripthash.subscribe', JSON.stringify([hash, status]))
  }

  #notify(method: string, params: string): void {
    this.#client.send(notificationText(method, params))
    this.#shared.notified(method)
  }
}

const isFailure = (outcome: unknown): outcome is Failure =>
  typeof outcome === 'object' && outcome !== null && 'code' in outcome

const isPassingFailure = (outcome: unknown): outcome is Failure => isFailure(outcome) && isPassing(outcome)

type CallResult = ReturnType<CallMethod['call']>

/** Reads with their answers. */
type Answers = readonly (readonly [Wanted, string | Failure])[]

/** A call that is ready to be answered. */
interface Prepared {
  readonly call: Call
  /** The name of the method, for metrics. */
  readonly name: string
  readonly method?: Method
  readonly refusal?: Refusal
  readonly wanted?: Wanted
  readonly run?: () => CallResult
  /** True if it counts against the rate limit. */
  readonly isLimited: boolean
}
