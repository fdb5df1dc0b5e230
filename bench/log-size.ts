import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { encodePrevouts } from '../pipelines/chain/prevout.js'
import { type ConnectedBlock, decodeBlock, decodeEvent } from '../pipelines/materialize/apply/decode.js'
import { openEmbeddedLog } from '../pipelines/log/embedded/embedded.js'
import { NETWORK } from './network.js'

export interface LogSize {
  /** The number of connected blocks. */
  readonly events: number
  readonly eventBytes: number
  /** Bytes of these blocks as the node serialises them. */
  readonly rawBytes: number
  readonly txs: number
  /** The number of transactions, without coinbases. */
  readonly inputs: number
  readonly outputs: number
  /** Bytes of the transactions, and of value and script of the outputs that they spend. */
  readonly payloadBytes: number
  /** Bytes of the embedded log on disk. */
  readonly fileBytes: number
}

/** Measures the blocks of topic `chain`. */
export async function measureLog(folder: string): Promise<LogSize> {
  const size = { events: 0, eventBytes: 0, rawBytes: 0, txs: 0, inputs: 0, outputs: 0, payloadBytes: 0 }
  for await (const { block, bytes } of blocksOf(folder)) {
    size.events++
    size.eventBytes += bytes
    size.rawBytes += block.size
    size.txs += block.txs.length
    size.payloadBytes += block.txs.reduce((sum, tx) => sum + tx.body.length + tx.witness.length, 0)
    size.payloadBytes += encodePrevouts(block.prevouts).length
    size.inputs += block.prevouts.length
    size.outputs += block.txs.reduce((sum, tx) => sum + tx.outputs.length, 0)
  }
  const names = await readdir(folder)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).blocks * 512))
  return { ...size, fileBytes: sizes.reduce((sum, each) => sum + each, 0) }
}

/** Returns the connected blocks of an embedded log, oldest first, with the bytes of their events. */
export async function* blocksOf(folder: string): AsyncGenerator<{ block: ConnectedBlock; bytes: number }> {
  const log = await openEmbeddedLog(folder)
  try {
    for (let position = 0; ;) {
      const records = await log.read('chain', position, 500)
      for (const record of records) {
        const { event } = decodeEvent(record)
        if (event.case === 'blockConnected')
          yield { block: decodeBlock(record.position, event.value, NETWORK), bytes: record.value.length }
      }
      const last = records.at(-1)
      if (last === undefined) return
      position = last.position + 1
    }
  } finally {
    await log.close()
  }
}
