import { describe, expect, it } from 'vitest'
import { Backlog } from '../../../../services/explorer/http/backlog.js'

class Client {
  isOpen = true

  constructor(public bytes: number) {}

  getBufferedAmount(): number {
    return this.bytes
  }

  close(): void {
    this.isOpen = false
  }
}

/** Checks the clients that are still connected. @returns for each of all clients whether it is. */
function check(backlog: Backlog, clients: readonly Client[]): boolean[] {
  backlog.check(clients.filter(({ isOpen }) => isOpen))
  return clients.map(({ isOpen }) => isOpen)
}

describe('the bytes that wait for clients', () => {
  it('disconnect none of them within the limit', () => {
    const backlog = new Backlog(100)
    const clients = [new Client(60), new Client(0), new Client(40)]
    for (let count = 0; count < 3; count++) expect(check(backlog, clients)).toEqual([true, true, true])
  })

  it('disconnect those that read nothing, the largest first, and no more than necessary', () => {
    const backlog = new Backlog(100)
    const clients = [new Client(50), new Client(90), new Client(40), new Client(0)]
    expect(check(backlog, clients)).toEqual([true, true, true, true])
    expect(check(backlog, clients)).toEqual([true, false, true, true])
    expect(check(backlog, clients)).toEqual([true, false, true, true])
  })

  it('disconnect none that reads, however much waits for it', () => {
    const backlog = new Backlog(100)
    const clients = [new Client(900), new Client(20)]
    check(backlog, clients)
    for (const client of clients) client.bytes -= 10
    expect(check(backlog, clients)).toEqual([true, true])
    expect(check(backlog, clients)).toEqual([false, true])
  })

  it('disconnect none at once that has just begun to be behind', () => {
    const backlog = new Backlog(100)
    const [old, recent] = [new Client(30), new Client(0)]
    check(backlog, [old, recent])
    recent.bytes = 90
    expect(check(backlog, [old, recent])).toEqual([false, true])
  })
})
