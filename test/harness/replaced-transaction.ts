import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { displayBytes } from '../../pipelines/chain/hash.js'
import { parseTx, serializeTx } from '../../pipelines/chain/transaction.js'
import { NodeEventSchema, PoolLeft_Reason } from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Pipeline } from './pipeline.js'
import { until } from './until.js'

/**
 * Writes to the log that a transaction was replaced, although it had not signalled it, by one that the explorer knows. The poller must
 * not continue afterwards, because it has not written this.
 * @returns the txid of the replaced one.
 */
export async function addReplaced({ log, get }: Pick<Pipeline, 'log' | 'get'>, by: string): Promise<string> {
  const tx = parseTx(Buffer.from((await get(`/tx/${by}/hex`)).body.hex as string, 'hex'))
  const raw = serializeTx({ ...tx, locktime: tx.locktime + 1 }, true)
  const { txid } = parseTx(raw)
  const records = await log.read('node', await log.last('node'), 1)
  const last = fromBinary(NodeEventSchema, records[0]!.value)
  const figures = { fee: 1_000n, vsize: raw.length, firstSeen: 1_700_000_000, signalled: false }
  const left = [
    { txid: displayBytes(txid), reason: PoolLeft_Reason.REPLACED, by: displayBytes(by), raw, ...figures },
  ]
  const event = create(NodeEventSchema, {
    epoch: last.epoch,
    sequence: last.sequence + 1n,
    chainPosition: last.chainPosition,
    event: { case: 'poolDelta', value: { left } },
  })
  await log.append('node', [toBinary(NodeEventSchema, event)])
  await until('the explorer knows it', async () => (await get(`/tx/${txid}/replaced`)).status === 200)
  return txid
}
