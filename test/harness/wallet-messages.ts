import { readFileSync } from 'node:fs'
import { ElectrumClient, type ElectrumMessage } from './electrum-client.js'
import { until } from './until.js'

/** A line of a step, before its values are filled in. */
interface Template {
  readonly text: string
  /** The number of requests of a batch; undefined if the line is one request. */
  readonly batch: number | undefined
}

/** Reads what a wallet sends, by step; test/recording/wallets has the form. */
function readMessages(wallet: string): ReadonlyMap<string, readonly Template[]> {
  const steps = new Map<string, Template[]>()
  const file = new URL(`../recording/wallets/${wallet}.txt`, import.meta.url)
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const parts = /^(\w+) (?:x(\d+) )?(\{.*\})$/.exec(line)
    if (parts === null) {
      if (!line.startsWith('#')) throw new Error(`invalid line: ${line}`)
      continue
    }
    const [, step = '', batch, text = ''] = parts
    steps.set(step, [
      ...(steps.get(step) ?? []),
      { text, batch: batch === undefined ? undefined : Number(batch) },
    ])
  }
  return steps
}

/** Sends a wallet's own lines, one after another, as it does. */
export class ReplayedWallet {
  readonly #steps: ReadonlyMap<string, readonly Template[]>
  #nextId = 1
  /** The messages that came without a request, in their order. */
  readonly notifications: ElectrumMessage[] = []

  private constructor(
    readonly client: ElectrumClient,
    wallet: string,
    private readonly end: string,
  ) {
    this.#steps = readMessages(wallet)
  }

  /** @param end of each line. */
  static async connect(address: string, wallet: string, end = '\n'): Promise<ReplayedWallet> {
    return new ReplayedWallet(await ElectrumClient.connect(address), wallet, end)
  }

  /** Sends the lines of a step with several. @returns the results. */
  async all(step: string): Promise<readonly unknown[]> {
    const results: unknown[] = []
    for (const template of this.#templates(step)) results.push(resultOf(await this.#single(template.text)))
    return results
  }

  /** Sends the line of a step. @param value for its only parameter. @returns the answer. */
  async send(step: string, value?: string | number): Promise<ElectrumMessage> {
    const [template] = this.#templates(step)
    return this.#single(filled(template?.text ?? '', value))
  }

  /** Sends the batches of a step, one after another. @returns the number of lines, and the answer to each value. */
  async batches<V extends string | number>(
    step: string,
    values: readonly V[],
  ): Promise<{ readonly lines: number; readonly answers: ReadonlyMap<V, ElectrumMessage> }> {
    const [template] = this.#templates(step)
    if (template?.batch === undefined) throw new Error(`no batch: ${step}`)
    const answers = new Map<V, ElectrumMessage>()
    let lines = 0
    for (let from = 0; from < values.length; from += template.batch) {
      const page = values.slice(from, from + template.batch)
      const ids = page.map(() => this.#nextId++)
      const requests = page.map((value, index) => withId(filled(template.text, value), ids[index] ?? 0))
      const answer = await this.#answer(`[${requests.join(',')}]`, ids)
      for (const each of answer as readonly ElectrumMessage[])
        answers.set(page[ids.indexOf(each.id as number)] as V, each)
      lines++
    }
    return { lines, answers }
  }

  /** Sends the batches of a step. @returns the result for each value. @throws Error if one has none. */
  async results<V extends string | number>(
    step: string,
    values: readonly V[],
  ): Promise<ReadonlyMap<V, unknown>> {
    const { answers } = await this.batches(step, values)
    return new Map([...answers].map(([value, answer]) => [value, resultOf(answer)]))
  }

  #templates(step: string): readonly Template[] {
    const templates = this.#steps.get(step)
    if (templates === undefined) throw new Error(`unknown step: ${step}`)
    return templates
  }

  async #single(text: string): Promise<ElectrumMessage> {
    const id = this.#nextId++
    return (await this.#answer(withId(text, id), [id])) as ElectrumMessage
  }

  /**
   * Sends a line, and waits for its answer. As these wallets do, takes a message with a method for a notification, and another one for the
   * answer only if it has exactly the ids of the requests, as numbers.
   */
  async #answer(line: string, ids: readonly number[]): Promise<unknown> {
    const { client } = this
    client.send(line + this.end)
    const answer = await until(`the answer to ${line.slice(0, 100)}`, () => {
      this.take()
      return client.others.shift()
    })
    const all = [answer].flat() as readonly ElectrumMessage[]
    const found = all.map(({ id }) => id as number).sort((one, other) => one - other)
    if (JSON.stringify(found) !== JSON.stringify(ids))
      throw new Error(`ids ${JSON.stringify(found)} instead of ${JSON.stringify(ids)}`)
    return answer
  }

  /** Moves the notifications that came to their list. */
  take(): void {
    const { others } = this.client
    const isNotification = (message: unknown): boolean =>
      typeof (message as ElectrumMessage).method === 'string'
    this.notifications.push(...(others.filter(isNotification) as ElectrumMessage[]))
    others.splice(0, others.length, ...others.filter((message) => !isNotification(message)))
  }
}

const filled = (text: string, value: string | number | undefined): string =>
  value === undefined ? text : text.replace(/SCRIPTHASH|TXID|HEIGHT|BLOCKS|HEX/, String(value))

const withId = (text: string, id: number): string => text.replace('"id":ID', `"id":${String(id)}`)

/** Returns the result of an answer of JSON-RPC 2.0, which may be null but must be there. @throws Error. */
export function resultOf(answer: ElectrumMessage): unknown {
  const isComplete =
    (answer as { readonly jsonrpc?: unknown }).jsonrpc === '2.0' && answer.result !== undefined
  if (!isComplete || 'error' in answer) throw new Error(`no result: ${JSON.stringify(answer)}`)
  return answer.result
}
