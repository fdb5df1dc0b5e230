import { describe, expect, it, vi } from 'vitest'
import { scriptKeyOf } from '../../../../../../pipelines/chain/script.js'
import type { Status } from '../../../../../../services/explorer/faces/electrum/reads/histories.js'
import { StatusWatch } from '../../../../../../services/explorer/faces/electrum/watches/status-watch.js'

const [ONE, OTHER] = ['11'.repeat(32), '22'.repeat(32)]
/** The key of `ONE` in the tables is a part of it too. */
const IMPOSTOR = '00'.repeat(12) + ONE.slice(24)
const keyOf = (hash: string): string => scriptKeyOf(hash) ?? ''

/** A watch on statuses that a test sets. */
class World {
  readonly statuses = new Map<string, string>()
  readonly unconfirmed = new Set<string>()
  /** Scripts that can be read later, and those that never can. */
  readonly busy = new Set<string>()
  readonly refused = new Set<string>()
  readonly reads: (readonly string[])[] = []
  /** The scripts that were read while another read of them was in progress. */
  readonly overlapping: string[] = []
  readonly #reading = new Set<string>()
  readonly sent: [client: string, hash: string, status: string | null][] = []
  #held: Promise<void> | undefined
  #touch: (touched: ReadonlySet<string> | undefined) => void = () => undefined
  readonly watch = new StatusWatch(
    {
      scripts: {
        watch: (watcher) => {
          this.#touch = watcher
        },
      },
      defect: (error) => {
        throw error
      },
    },
    async (hashes) => {
      this.reads.push(hashes)
      this.overlapping.push(...hashes.filter((hash) => this.#reading.has(hash)))
      for (const hash of hashes) this.#reading.add(hash)
      const current = hashes
        .filter((hash) => !this.busy.has(hash))
        .map((hash) => [hash, this.refused.has(hash) ? undefined : this.#statusOf(hash)] as const)
      await this.#held
      for (const hash of hashes) this.#reading.delete(hash)
      return new Map(current)
    },
  )

  #statusOf(hash: string): Status {
    return { status: this.statuses.get(hash) ?? null, isUnconfirmed: this.unconfirmed.has(hash) }
  }

  client(name: string) {
    return {
      statusChanged: (hash: string, status: string | null): void => {
        this.sent.push([name, hash, status])
      },
    }
  }

  /** Makes the reads that begin from now on wait. @returns a function that ends it. */
  hold(): () => void {
    let end = (): void => undefined
    this.#held = new Promise((resolve) => {
      end = resolve
    })
    return () => {
      this.#held = undefined
      end()
    }
  }

  touch(...hashes: string[]): void {
    this.#touch(new Set(hashes.map(keyOf)))
  }

  touchAny(): void {
    this.#touch(undefined)
  }

  async turn(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('the watch on statuses', () => {
  it('sends the status of a script to each of its subscribers when it is touched, or may be', async () => {
    const world = new World()
    const [a, b] = [world.client('a'), world.client('b')]
    for (const client of [a, b]) world.watch.add(ONE, client)
    world.watch.add(OTHER, a)
    world.statuses.set(ONE, 'new')
    world.touch(ONE, '33'.repeat(32))
    await world.turn()
    expect(world.reads).toEqual([[ONE]])
    expect(world.sent).toEqual([
      ['a', ONE, 'new'],
      ['b', ONE, 'new'],
    ])
    world.watch.remove(ONE, a)
    world.watch.remove(OTHER, a)
    world.touchAny()
    await world.turn()
    expect(world.sent.slice(2)).toEqual([['b', ONE, 'new']])
    world.watch.remove(ONE, b)
    world.touchAny()
    await world.turn()
    expect(world.reads).toHaveLength(2)
  })

  it('reads the scripts of a block together', async () => {
    const world = new World()
    const hashes = Array.from({ length: 200 }, (_, index) => index.toString(16).padStart(64, '0'))
    for (const hash of hashes) world.watch.add(hash, world.client('a'))
    world.touch(...hashes)
    await world.turn()
    expect(world.reads.map(({ length }) => length)).toEqual([200])
  })

  it('does not send an older status after a newer one', async () => {
    const world = new World()
    world.watch.add(ONE, world.client('a'))
    world.statuses.set(ONE, 'old')
    const release = world.hold()
    world.touch(ONE)
    await world.turn()
    world.statuses.set(ONE, 'new')
    world.touch(ONE)
    await world.turn()
    expect(world.reads).toHaveLength(1)
    release()
    await world.turn()
    expect(world.sent.map(([, , status]) => status)).toEqual(['old', 'new'])
  })

  it('does not read a script twice at once, also after it could not be read', async () => {
    const world = new World()
    world.watch.add(ONE, world.client('a'))
    world.busy.add(ONE)
    world.touch(ONE)
    await world.turn()
    world.busy.clear()
    const release = world.hold()
    // While it waits to be read again, and when it is being read.
    world.touch(ONE)
    await vi.waitFor(() => {
      expect(world.reads).toHaveLength(2)
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    world.touch(ONE)
    await world.turn()
    expect(world.overlapping).toEqual([])
    expect(world.reads).toHaveLength(2)
    release()
    await world.turn()
    expect(world.reads).toHaveLength(3)
  })

  it('keeps apart a hash that only begins like that of a script', async () => {
    const world = new World()
    const [a, b] = [world.client('a'), world.client('b')]
    world.watch.add(IMPOSTOR, a)
    world.watch.add(ONE, b)
    world.statuses.set(ONE, 'new')
    world.touch(ONE)
    await world.turn()
    expect(world.sent.sort()).toEqual([
      ['a', IMPOSTOR, null],
      ['b', ONE, 'new'],
    ])
    world.watch.remove(ONE, b)
    world.touch(IMPOSTOR)
    await world.turn()
    expect(world.sent.slice(2)).toEqual([['a', IMPOSTOR, null]])
  })

  it('compares scripts with unconfirmed transactions at each tip', async () => {
    const world = new World()
    for (const hash of [ONE, OTHER]) world.watch.add(hash, world.client('a'))
    world.unconfirmed.add(ONE)
    world.watch.isUnconfirmed(ONE)
    world.watch.tipChanged()
    await world.turn()
    expect(world.reads).toEqual([[ONE]])
    world.unconfirmed.delete(ONE)
    world.touch(ONE)
    await world.turn()
    world.watch.tipChanged()
    await world.turn()
    expect(world.reads).toHaveLength(2)
  })

  it('reads again what cannot be read at the moment, and only that', async () => {
    const world = new World()
    for (const hash of [ONE, OTHER]) world.watch.add(hash, world.client('a'))
    world.busy.add(ONE)
    world.refused.add(OTHER)
    world.touch(ONE, OTHER)
    await world.turn()
    expect(world.sent).toEqual([])
    world.busy.clear()
    await vi.waitFor(() => {
      expect(world.sent).toEqual([['a', ONE, null]])
    })
    expect(world.reads).toEqual([[ONE, OTHER], [ONE]])
  })
})
