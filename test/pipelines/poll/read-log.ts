import { fromBinary } from '@bufbuild/protobuf'
import type { EventLog, LogRecord, Topic } from '../../../pipelines/log/port.js'
import {
  ChainEventSchema,
  NodeEventSchema,
  type ChainEvent,
  type NodeEvent,
  type PoolLeft_Reason,
} from '../../../proto/gen/headwater/events/v1/events_pb.js'

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

async function records(log: EventLog, topic: Topic): Promise<LogRecord[]> {
  const all: LogRecord[] = []
  for (let next = 0; ;) {
    const found = await log.read(topic, next, 1000)
    if (found.length === 0) return all
    all.push(...found)
    next = (found.at(-1)?.position ?? next) + 1
  }
}

export async function chainEvents(log: EventLog): Promise<ChainEvent[]> {
  return (await records(log, 'chain')).map(({ value }) => fromBinary(ChainEventSchema, value))
}

export async function nodeEvents(log: EventLog): Promise<NodeEvent[]> {
  return (await records(log, 'node')).map(({ value }) => fromBinary(NodeEventSchema, value))
}

/** Returns what has left the mempool: txid, reason, and the transaction that replaced it. */
export async function removals(log: EventLog): Promise<[string, PoolLeft_Reason, string][]> {
  return (await nodeEvents(log))
    .flatMap(({ event }) => (event.case === 'poolDelta' ? event.value.left : []))
    .map(({ txid, reason, by }) => [hex(txid), reason, hex(by)])
}

/** A line for each event of the chain, in short form: +hash, -hash, epoch; a ! if the state may be published. */
export async function chainStory(log: EventLog): Promise<string[]> {
  return (await chainEvents(log)).map(({ epoch, settled, event }) => {
    const mark = settled ? '!' : ''
    if (event.case === 'epochStarted') return `epoch ${String(epoch)}${mark}`
    if (event.case === 'blockConnected') return `+${hex(event.value.hash)}${mark}`
    return `-${hex(event.value?.hash ?? new Uint8Array())}${mark}`
  })
}

/**
 * Applies the topic as every consumer must.
 * @throws if an event does not fit.
 */
export async function applyChain(log: EventLog): Promise<{ chain: string[]; visible: string[][] }> {
  const chain: string[] = []
  const visible: string[][] = []
  let epoch = 0
  let sequence = -1n
  for (const each of await chainEvents(log)) {
    if (each.epoch < epoch || (each.epoch === epoch && each.sequence <= sequence)) continue
    if (each.epoch === epoch && each.sequence !== sequence + 1n)
      throw new Error('a sequence number is missing')
    epoch = each.epoch
    sequence = each.sequence
    const { event } = each
    if (event.case === 'blockConnected') {
      const parent = chain.at(-1) ?? '0'.repeat(64)
      if (hex(event.value.prevHash) !== parent || event.value.height !== chain.length)
        throw new Error('a block does not follow the tip')
      chain.push(hex(event.value.hash))
    }
    if (event.case === 'blockDisconnected' && chain.pop() !== hex(event.value.hash))
      throw new Error('what was disconnected is not the tip')
    if (each.settled) visible.push([...chain])
  }
  return { chain, visible }
}

/** The mempool as a new reader builds it: from the last snapshot on. */
export async function mempoolFromLog(log: EventLog): Promise<Set<string>> {
  const mempool = new Set<string>()
  let epoch = 0
  for (const each of await nodeEvents(log)) {
    if (each.epoch < epoch) continue
    epoch = each.epoch
    if (each.event.case === 'poolSnapshot') {
      if (each.event.value.part === 0) mempool.clear()
      for (const entry of each.event.value.entries) mempool.add(hex(entry.txid))
    }
    if (each.event.case === 'poolDelta') {
      for (const left of each.event.value.left)
        if (!mempool.delete(hex(left.txid))) throw new Error('what left was not there')
      for (const entry of each.event.value.entered) {
        if (mempool.has(hex(entry.txid))) throw new Error('what entered was there')
        mempool.add(hex(entry.txid))
      }
    }
  }
  return mempool
}
