import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LEASE_WAIT_MS, LeasedLimit } from '../../../../../services/explorer/host/processes/leased-limit.js'
import { type Lease, Leases } from '../../../../../services/explorer/host/processes/leases.js'

const WINDOW_MS = 60_000

type Outcome = number | undefined | Promise<number | undefined>

const all = (outcomes: readonly Outcome[]): Promise<(number | undefined)[]> =>
  Promise.all(outcomes.map((outcome) => Promise.resolve(outcome)))

/** Processes that share a limit. Messages between them and the primary arrive in order, when `deliver` is called. */
class Group {
  now = 1_000
  /** The messages in transit, by process and direction: each pair keeps its order, pairs are independent. */
  readonly #transit = new Map<string, (() => void)[]>()
  readonly processes: readonly LeasedLimit[]
  readonly frozen = new Set<number>()
  silences = 0
  #messages = 0

  constructor(size: number, most: number) {
    const leases = new Leases<number>({
      most,
      windowMs: WINDOW_MS,
      now: () => this.now,
      recall: (holder, client, endsAt) =>
        new Promise((resolve) => {
          if (this.frozen.has(holder)) {
            resolve(0)
            return
          }
          this.#send(`to ${String(holder)}`, () => {
            const tokens = this.processes[holder]!.giveUp(client, endsAt)
            this.#send(`from ${String(holder)}`, () => {
              resolve(tokens)
            })
          })
        }),
    })
    this.processes = Array.from({ length: size }, (_, index): LeasedLimit => {
      const want = (client: string, tokens: number, unused: Lease | undefined): void => {
        this.#send(`from ${String(index)}`, () => {
          void leases.lease(client, tokens, index, unused).then((lease) => {
            this.#send(`to ${String(index)}`, () => {
              this.processes[index]!.receive(client, lease)
            })
          })
        })
      }
      const onSilence = (): void => {
        this.silences++
      }
      return new LeasedLimit({
        name: 'requests',
        most,
        windowMs: WINDOW_MS,
        trustedHops: 0,
        want,
        onSilence,
        now: () => this.now,
      })
    })
  }

  get messages(): number {
    return this.#messages
  }

  #send(lane: string, arrive: () => void): void {
    this.#messages++
    this.#transit.set(lane, [...(this.#transit.get(lane) ?? []), arrive])
  }

  /** Delivers the oldest message of one lane. @returns false if nothing is in transit. */
  async deliver(choice = 0): Promise<boolean> {
    const lanes = [...this.#transit].filter(([, messages]) => messages.length > 0)
    const [, messages] = lanes[choice % Math.max(1, lanes.length)] ?? []
    messages?.shift()?.()
    await new Promise(setImmediate)
    return messages !== undefined
  }

  async deliverAll(): Promise<void> {
    while (await this.deliver());
  }

  take(process: number, client = 1, cost = 1): Outcome {
    return this.processes[process]!.take({ peer: Uint8Array.of(192, 0, 2, client), forwardedFor: '' }, cost)
  }
}

describe('a rate limit that processes share', () => {
  // Otherwise a slow machine would count as a primary that does not answer.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('admits exactly its number of requests, whichever processes they reach and however messages are delayed', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('request' as const), process: fc.nat(2) }),
      fc.record({ kind: fc.constant('deliver' as const), choice: fc.nat(5) }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.array(step, { maxLength: 120 }),
        async (most, steps) => {
          const group = new Group(3, most)
          const outcomes: (number | undefined)[] = []
          let requests = 0
          const pending: Promise<unknown>[] = []
          for (const each of steps) {
            if (each.kind === 'deliver') {
              await group.deliver(each.choice)
              continue
            }
            requests++
            const outcome = group.take(each.process)
            if (outcome instanceof Promise) pending.push(outcome.then((value) => outcomes.push(value)))
            else outcomes.push(outcome)
          }
          await group.deliverAll()
          await Promise.all(pending)
          const admitted = outcomes.filter((retryMs) => retryMs === undefined).length
          expect(outcomes).toHaveLength(requests)
          expect(admitted).toBe(Math.min(requests, most))
          for (const retryMs of outcomes) if (retryMs !== undefined) expect(retryMs).toBe(WINDOW_MS)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('admits requests of any cost while their sum is within it, and refuses none that would fit', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('request' as const),
        process: fc.nat(2),
        cost: fc.integer({ min: 1, max: 9 }),
      }),
      fc.record({ kind: fc.constant('deliver' as const), choice: fc.nat(5) }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.array(step, { maxLength: 120 }),
        async (most, steps) => {
          const group = new Group(3, most)
          const waiting: Promise<void>[] = []
          const refused: number[] = []
          let admitted = 0
          for (const each of steps) {
            if (each.kind === 'deliver') await group.deliver(each.choice)
            else {
              const outcome = Promise.resolve(group.take(each.process, 1, each.cost))
              waiting.push(
                outcome.then((retryMs) => {
                  const cost = Math.min(each.cost, most)
                  if (retryMs === undefined) admitted += cost
                  else refused.push(cost)
                }),
              )
            }
          }
          await group.deliverAll()
          await Promise.all(waiting)
          expect(admitted).toBeLessThanOrEqual(most)
          for (const cost of refused) expect(admitted + cost).toBeGreaterThan(most)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('asks the primary for a few leases only, and then refuses without asking', async () => {
    const group = new Group(2, 100)
    const send = async (): Promise<number | undefined> => {
      const outcome = group.take(0)
      await group.deliverAll()
      return outcome
    }
    for (let request = 0; request < 100; request++) expect(await send()).toBeUndefined()
    expect(group.messages).toBeLessThan(20)
    expect(await send()).toBe(WINDOW_MS)
    const { messages } = group
    group.now += 1_000
    expect(group.take(0)).toBe(WINDOW_MS - 1_000)
    expect(group.messages).toBe(messages)
  })

  it('begins a new window for all processes at the same moment', async () => {
    const group = new Group(2, 2)
    for (const process of [0, 1]) {
      const outcome = group.take(process)
      await group.deliverAll()
      expect(await outcome).toBeUndefined()
    }
    for (const process of [0, 1]) {
      const outcome = group.take(process)
      await group.deliverAll()
      expect(await outcome).toBe(WINDOW_MS)
    }
    group.now += WINDOW_MS
    const outcomes = [group.take(0), group.take(1), group.take(0)]
    await group.deliverAll()
    expect((await all(outcomes)).filter((retryMs) => retryMs === undefined)).toHaveLength(2)
  })

  it('never exceeds the limit when a process is frozen with tokens, which count as used', async () => {
    const group = new Group(2, 10)
    const first = group.take(0)
    await group.deliverAll()
    expect(await first).toBeUndefined()
    group.frozen.add(0)
    let admitted = 1
    for (let request = 0; request < 20; request++) {
      const outcome = group.take(1)
      await group.deliverAll()
      if ((await outcome) === undefined) admitted++
    }
    // Process 0 got half of the tokens and used one of them.
    expect(admitted).toBe(6)
    for (let request = 0; request < 4; request++) expect(group.take(0)).toBeUndefined()
  })

  it('counts clients separately', async () => {
    const group = new Group(2, 1)
    const outcomes = [group.take(0, 1), group.take(1, 2), group.take(1, 1), group.take(0, 2)]
    await group.deliverAll()
    const retries = await all(outcomes)
    expect(retries.filter((retryMs) => retryMs === undefined)).toHaveLength(2)
    expect([retries[0] === undefined, retries[2] === undefined].filter(Boolean)).toHaveLength(1)
  })

  it('counts in each process alone while the primary does not answer', async () => {
    const group = new Group(2, 3)
    const waiting = [group.take(0), group.take(0)]
    vi.advanceTimersByTime(LEASE_WAIT_MS)
    expect(await all(waiting)).toEqual([undefined, undefined])
    expect(group.silences).toBe(1)
    expect(group.take(0)).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })
})
