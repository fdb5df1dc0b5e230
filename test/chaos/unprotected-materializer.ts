/**
 * The materializer without one protection, which the first argument names; otherwise as
 * services/materializer/main.ts.
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type { EventLog, LogRecord } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { WRITERS } from '../../pipelines/tables/schema.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import type { Columns, EncodedRows } from '../../pipelines/tables/rowbinary.js'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { engineUrl } from '../../services/process/discovery.js'
import { openEventLog } from '../../services/process/event-log.js'
import { runService } from '../../services/process/lifecycle.js'

class Unfenced extends Database {
  override async insert<C extends Columns>(rows: EncodedRows<C>): Promise<void> {
    if ((rows.table as unknown) !== WRITERS) await super.insert(rows)
  }
}

/** Numbers every event of the chain by its position in the log, so that no event is old and none is a duplicate. */
function renumbered(log: EventLog): EventLog {
  const read = async (...args: Parameters<EventLog['read']>): Promise<LogRecord[]> => {
    const records = await log.read(...args)
    if (args[0] !== 'chain') return records
    return records.map((record) => {
      const event = fromBinary(ChainEventSchema, record.value)
      event.epoch = 1
      event.sequence = BigInt(record.position)
      return { ...record, value: toBinary(ChainEventSchema, event) }
    })
  }
  return new Proxy(log, {
    get: (target, name) => {
      if (name === 'read') return read
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

await runService('materializer', async ({ config, logger, signal, args }) => {
  const [without] = args
  const options = {
    url: await engineUrl(config, { logger, signal }),
    database: config.clickhouseDatabase,
    // A frozen materializer must not discard its batch in memory: the fence is what must stop it.
    timeoutMs: 600_000,
  }
  const db = without === 'fence' ? new Unfenced(options) : new Database(options)
  const opened = await openEventLog(config, logger)
  const log = without === 'duplicates' ? renumbered(opened) : opened
  const hooks = { repairs: without !== 'repair' }
  await new Materializer({ db, log, logger, finalityDepth: config.finalityDepth, hooks }).run(signal)
})
