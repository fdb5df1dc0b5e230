import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { Guard, ReceiverRefused, type Resolve } from '../../../../services/webhooks/delivery/guard.js'

/** Resolves every name to the lists of addresses in turn. */
function resolveTo(...answers: readonly (readonly string[])[]): Resolve & { count: number } {
  const resolve = Object.assign(
    ((_name, _options, done) => {
      const addresses = (answers[resolve.count++] ?? []).map((address): LookupAddress => {
        return { address, family: address.includes(':') ? 6 : 4 }
      })
      done(null, addresses)
    }) satisfies Resolve,
    { count: 0 },
  )
  return resolve
}

function lookUp(guard: Guard, isEncrypted = true): Promise<unknown> {
  return new Promise((resolve, reject) => {
    guard.lookup(isEncrypted)('name.example', { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses)
      else reject(error)
    })
  })
}

describe('the guard of webhooks', () => {
  it('allows public addresses over TLS only', () => {
    const guard = new Guard([])
    expect(() => {
      guard.assertAllowed('8.8.8.8', true)
    }).not.toThrow()
    expect(() => {
      guard.assertAllowed('8.8.8.8', false)
    }).toThrow(/without TLS/)
    for (const address of ['127.0.0.1', '::1', '::ffff:169.254.169.254', 'no address'])
      expect(() => {
        guard.assertAllowed(address, true)
      }).toThrow(ReceiverRefused)
  })

  it('allows the networks of the operator, also without TLS and in other spellings', () => {
    const guard = new Guard(['10.1.0.0/16', 'fd00:1::/32', '127.0.0.1/32'])
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5', '127.0.0.1'])
      expect(() => {
        guard.assertAllowed(address, false)
      }, address).not.toThrow()
    for (const address of ['10.2.0.1', 'fd00:2::5', '127.0.0.2'])
      expect(() => {
        guard.assertAllowed(address, true)
      }, address).toThrow(ReceiverRefused)
  })

  it('connects to the addresses that it has checked: a name is resolved once', async () => {
    const resolve = resolveTo(['8.8.8.8', '2606:4700::1111'], ['127.0.0.1'])
    const guard = new Guard([], resolve)
    expect(await lookUp(guard)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
    expect(resolve.count).toBe(1)
    // The name changes to another address: the next attempt notices.
    await expect(lookUp(guard)).rejects.toThrow(ReceiverRefused)
  })

  it('refuses a name if any of its addresses is not allowed, or if it has none', async () => {
    await expect(lookUp(new Guard([], resolveTo(['8.8.8.8', '10.0.0.1'])))).rejects.toThrow(ReceiverRefused)
    await expect(lookUp(new Guard([], resolveTo([])))).rejects.toThrow(/no address/)
    await expect(lookUp(new Guard([], resolveTo(['8.8.8.8'])), false)).rejects.toThrow(/without TLS/)
  })
})
