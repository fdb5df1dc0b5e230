import { fromBinary } from '@bufbuild/protobuf'
import type { EventLog } from '../../pipelines/log/port.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { settled } from './agreement.js'
import { until } from '../harness/until.js'
import type { Fault } from './fault.js'
import type { SourceNode } from './source-node.js'
import { FINALITY_DEPTH, type World } from './world.js'

/** The number of transactions in the mempool from which the block is mined: enough for it to contain some. */
const ENTERING = 20

/** Returns the block that the newest event of topic `chain` connects; undefined if it is another event. */
async function lastConnected(log: EventLog): Promise<string | undefined> {
  const [record] = await log.read('chain', await log.last('chain'), 1)
  const event = record === undefined ? undefined : fromBinary(ChainEventSchema, record.value).event
  return event?.case === 'blockConnected' ? Buffer.from(event.value.hash).toString('hex') : undefined
}

async function level(world: World, when: string): Promise<void> {
  const [why] = await settled(world)
  if (why !== undefined) throw new Error(`${when}: ${why}`)
}

async function clearMempool(node: SourceNode): Promise<void> {
  const { pool } = await node.state()
  await node.order(`pool?evict=${String(pool.length)}`)
}

/**
 * Leaves the log in the middle of a reorganisation: the tip is disconnected, the first block of the new branch is
 * connected, and the poller died before it received the second.
 * @returns the hash of that first block.
 */
async function halfReorg(world: World): Promise<string> {
  const { links, node, log } = world
  const poller = world.service('poller')
  await poller.kill()
  const { height, hash: second } = await node.order('reorg?depth=1&length=2')
  const first = (await node.hashes(height))[height - 1] ?? ''
  links.node.hold(`"method":"getblock","params":["${second}"`)
  poller.start()
  await until('the first block is in the log', async () => (await lastConnected(log)) === first)
  return first
}

/**
 * Freezes a materializer while the first row of a block is in flight. Before it resumes, the block is disconnected
 * without having been part of a visible state, another materializer takes over and therefore does not delete its
 * rows, and the chain passes the final height. Then the insert arrives: readers do not know that the block is stale,
 * so all that the insert writes from here on is visible where rows are selected in SQL. The mempool is empty at the end
 * and the last blocks have no payments, so that the newest transactions that readers list include those of the block.
 */
export const lateInsert: Fault = {
  name: 'materializer frozen amid an insert',
  alone: true,
  async strike(world) {
    const { links, node, log } = world
    const first = world.service('materializer')
    await clearMempool(node)
    await node.order(`pool?enter=${String(ENTERING)}`)
    await level(world, 'before')
    const held = links.writer.hold('INTO+blocks+')
    const block = await halfReorg(world)
    node.replaced.add(block)
    await until('its row is in flight', () => held.count > 0)
    first.signal('SIGSTOP')
    links.writer.holdNoMore()
    await world.service('poller').kill()
    await links.node.repair()
    const { hash } = await node.order('reorg?depth=2&length=3')
    world.service('poller').start()
    await until('the node is followed', async () => (await lastConnected(log)) === hash)
    world.another('materializer')
    const { height } = await node.order(`mine?txs=0&blocks=${String(FINALITY_DEPTH + 2)}`)
    await clearMempool(node)
    const isFinal = async (): Promise<boolean> => ((await latestHead(world.db))?.tipHeight ?? 0) >= height
    await until('another process has taken over', isFinal)
    await level(world, 'after another has taken over')
    // The rows of the next blocks follow the rows of this one: the process must stop there, before it can repair what
    // it did.
    const next = links.writer.hold('INTO+blocks+')
    held.release()
    first.signal('SIGCONT')
    // On Kafka a superseded materializer stands by.
    const standsBy = (): boolean =>
      world.broker !== undefined && world.options.control !== 'fence' && held.answered
    await until('it exits or continues', () => !first.alive || next.count > 0 || standsBy())
    await first.kill()
    links.writer.holdNoMore()
  },
}
