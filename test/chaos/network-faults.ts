import { setTimeout as sleep } from 'node:timers/promises'
import { FAULT_KINDS, type FaultKind } from '../../services/simnode/faults.js'
import type { Random } from '../../services/simnode/random.js'
import type { Fault } from './fault.js'
import type { TcpProxy } from './tcp-proxy.js'
import type { World } from './world.js'

type Links = (world: World) => readonly TcpProxy[]

const toDatabase: Links = ({ links }) => [links.writer, links.reader]
const toNode: Links = ({ links }) => [links.node]

/** Seconds of the outage, as long as a real one; shorter than the timeout of any client. */
const outage = (random: Random): Promise<void> => sleep(500 + random.below(1500))

const paused = (what: string, links: Links): Fault => ({
  name: `${what} silent`,
  async strike(world, random) {
    await sleep(random.below(200))
    for (const link of links(world)) link.pause()
    await outage(random)
    for (const link of links(world)) link.resume()
  },
})

const refusing = (what: string, links: Links): Fault => ({
  name: `${what} refuses`,
  async strike(world, random) {
    await sleep(random.below(200))
    for (const link of links(world)) await link.refuse()
    await outage(random)
    for (const link of links(world)) await link.accept()
  },
})

const cut = (what: string, links: Links): Fault => ({
  name: `${what} cut off`,
  async strike(world, random) {
    for (let times = 0; times < 6; times++) {
      await sleep(random.below(150))
      for (const link of links(world)) link.cut()
    }
  },
})

/** Enough requests of every kind that each round affects some. */
const spoilt = (kind: FaultKind): Fault => ({
  name: `invalid answers of the node: ${kind}`,
  async strike({ node }, random) {
    for (let times = 0; times < 4; times++) {
      await node.spoil(kind, 1 + random.below(6), 50 + random.below(400))
      await sleep(random.below(150))
    }
  },
})

const feedCut: Fault = {
  name: 'feed cut off',
  async strike({ watch }, random) {
    for (let times = 0; times < 6; times++) {
      await sleep(random.below(150))
      watch?.cut()
    }
  },
}

export const NETWORK_FAULTS: readonly Fault[] = [
  paused('database', toDatabase),
  refusing('database', toDatabase),
  cut('database', toDatabase),
  paused('node', toNode),
  refusing('node', toNode),
  cut('node', toNode),
  ...FAULT_KINDS.map(spoilt),
  feedCut,
]
