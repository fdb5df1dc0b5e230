/** The thread that writes the transaction store: it reads events that the explorer itself does not need, and takes long for each. */
import { workerData } from 'node:worker_threads'
import { networkNamed } from '../../../pipelines/chain/networks.js'
import { isUnreadable, remove } from '../../../pipelines/txstore/file.js'
import { TxStoreWriter } from '../../../pipelines/txstore/writer.js'
import { answerJobs } from '../../../pipelines/worker-thread.js'
import { openEventLog } from '../../process/event-log.js'
import { createLogger } from '../../process/logger.js'
import type { TxStoreJob, TxStoreProgress, TxStoreThreadData } from './tx-store-settings.js'

/** Bytes and records that one batch reads. */
const BATCH_BYTES = 2 ** 20
const BATCH_RECORDS = 256
/** The number of records whose size is estimated by that of one of them. */
const SAMPLED = 64

const { path, settings } = workerData as TxStoreThreadData
const log = await openEventLog(settings, createLogger('explorer', settings.logLevel))
let writer: TxStoreWriter | undefined
/** The position that the next batch reads from; undefined before the first. */
let next: number | undefined

answerJobs(async ({ chain, maxBytes }: TxStoreJob): Promise<TxStoreProgress> => {
  try {
    writer ??= new TxStoreWriter(path)
    next ??= await beginning(writer, maxBytes)
    const records = await log.read('chain', next, BATCH_RECORDS, BATCH_BYTES)
    writer.write(records, networkNamed(chain))
    writer.shrink(maxBytes)
    next = (records.at(-1)?.position ?? next - 1) + 1
    return { isLevel: next > (await log.last('chain')) }
  } catch (error) {
    writer?.close()
    writer = next = undefined
    if (isUnreadable(error)) remove(path)
    throw error
  }
})

/** Returns the position from which on records are missing from the store: for a new one, that of about so many bytes of records. */
async function beginning({ progress }: TxStoreWriter, maxBytes: number): Promise<number> {
  const last = await log.last('chain')
  if (progress !== undefined && progress.position <= last) {
    const [record] = await log.read('chain', progress.position, 1)
    if (record?.position === progress.position && record.time === progress.time) return progress.position + 1
  }
  const first = await log.first('chain')
  let [from, bytes] = [last + 1, 0]
  while (from > first && bytes < maxBytes) {
    const step = Math.min(SAMPLED, from - first)
    from -= step
    const [record] = await log.read('chain', from, 1)
    bytes += step * (record?.value.length ?? 0)
  }
  return from
}
