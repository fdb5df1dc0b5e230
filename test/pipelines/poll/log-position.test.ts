import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import type { EventLog, Topic } from '../../../pipelines/log/port.js'
import { LogMovedError } from '../../../pipelines/poll/errors.js'
import { readLogEnd } from '../../../pipelines/poll/chain/log-end.js'
import { blockOn } from './fake-chain.js'
import { log, newPoller, node, useNodeAndLog } from './node-and-log.js'

useNodeAndLog()

/** A log that breaks its guarantees while the test says so. */
class FaultyLog {
  fault: 'loses' | 'doubles' | undefined
  /** The position of an acknowledged record that was lost: `last` returns it until another record has it. */
  readonly #lost = new Map<Topic, number>()

  constructor(
    readonly inner: EventLog,
    readonly topic: Topic,
  ) {}

  get log(): EventLog {
    const own: Partial<EventLog> = {
      append: (topic, values) => this.#append(topic, values),
      last: async (topic) => this.#lost.get(topic) ?? this.inner.last(topic),
    }
    return new Proxy(this.inner, {
      get: (target, name) => {
        const member: unknown = Reflect.get(own, name) ?? Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }

  async #append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    if (topic !== this.topic) return this.inner.append(topic, values)
    if (this.fault === 'loses') {
      this.fault = undefined
      const position = (await this.inner.last(topic)) + values.length
      this.#lost.set(topic, position)
      return position
    }
    this.#lost.delete(topic)
    const position = await this.inner.append(topic, values)
    if (this.fault !== 'doubles') return position
    this.fault = undefined
    return this.inner.append(topic, values)
  }
}

describe.each(['chain', 'node'] as const)(
  'a log that assigns other positions to topic %s than it must',
  (topic) => {
    it.each(['loses', 'doubles'] as const)(
      '%s an append: the poller starts a new epoch from its end',
      async (fault) => {
        const faulty = new FaultyLog(log, topic)
        const poller = newPoller({ log: faulty.log, pollIntervalMs: 1 })
        await poller.pollOnce()
        const { epoch } = await readLogEnd(log, REGTEST)
        faulty.fault = fault
        // The next append detects the loss.
        const polls = async (): Promise<void> => {
          for (let more = 0; more < 3; more++) {
            node.chain = [...node.chain, blockOn(node.chain)]
            await poller.pollOnce()
          }
        }
        await expect(polls()).rejects.toThrow(LogMovedError)
        expect(faulty.fault).toBeUndefined()
        await poller.pollOnce()
        const end = await readLogEnd(log, REGTEST)
        expect(end.epoch).toBe(epoch + 1)
        expect(end.tip?.hash).toBe(node.chain.at(-1)?.hash)
      },
    )
  },
)
