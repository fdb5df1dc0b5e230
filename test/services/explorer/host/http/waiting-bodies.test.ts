import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WaitingBodies } from '../../../../../services/explorer/host/http/waiting-bodies.js'

describe('the answers that wait for clients', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A client that reads a body. */
  class Client {
    isOpen = true
    read = 0
    readonly #end: () => void

    constructor(bodies: WaitingBodies, body: Buffer) {
      const close = (): void => {
        this.isOpen = false
        this.#end()
      }
      this.#end = bodies.add({ body, began: performance.now(), read: () => this.read, close })
    }

    end(): void {
      this.#end()
    }
  }

  it('count a body once, however many clients read it, until the last one has', () => {
    const bodies = new WaitingBodies(100)
    const body = Buffer.alloc(60)
    const clients = Array.from({ length: 10 }, () => new Client(bodies, body))
    expect(bodies.bytes).toBe(60)
    for (const client of clients.slice(1)) client.end()
    expect(bodies.bytes).toBe(60)
    clients[0]?.end()
    clients[0]?.end()
    expect(bodies.bytes).toBe(0)
  })

  it('disconnect the clients of the body that is read most slowly, and no more than necessary', () => {
    const bodies = new WaitingBodies(100)
    const [slow, shared, other] = [Buffer.alloc(40), Buffer.alloc(40), Buffer.alloc(40)]
    const first = new Client(bodies, slow)
    const [idle, quick] = [new Client(bodies, shared), new Client(bodies, shared)]
    vi.advanceTimersByTime(2_000)
    first.read = 10
    quick.read = 20
    const last = new Client(bodies, other)
    expect([first, idle, quick, last].map(({ isOpen }) => isOpen)).toEqual([false, true, true, true])
    expect(bodies.bytes).toBe(80)
  })

  it('spare those that have just begun, for a second', () => {
    const bodies = new WaitingBodies(100)
    const clients = Array.from({ length: 3 }, () => new Client(bodies, Buffer.alloc(50)))
    bodies.check()
    expect(clients.every(({ isOpen }) => isOpen)).toBe(true)
    vi.advanceTimersByTime(1_000)
    bodies.check()
    expect(clients.filter(({ isOpen }) => isOpen)).toHaveLength(2)
  })
})
