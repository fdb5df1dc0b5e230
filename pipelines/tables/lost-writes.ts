/*
 * The embedded engine, chDB's ClickHouse, continues when the disk refuses a write: its `WriteBufferFromFileDescriptor` counts the
 * failure and does not throw. Inserts are acknowledged, and merges replace their sources, with empty files. After a restart the
 * engine detaches such broken parts and uses the sources again. It is therefore restarted immediately, and writers publish nothing
 * in a run that has lost a write, or in a run that began after their own writes.
 */

/** A macro of the embedded engine's configuration, whose value differs in each run. Other servers, which do throw, lack it. */
export const RUN_MACRO = 'headwater_run'

/** SQL for the number of writes that the disk refused in this run. */
export const LOST_WRITES =
  "(SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed')"

/** SQL that returns the run, empty for a server that is not the embedded engine, and the number of its lost writes. */
export const RUN_AND_LOST = `SELECT any(substitution) AS run, ${LOST_WRITES} AS lost FROM system.macros WHERE macro = '${RUN_MACRO}'`

/**
 * Returns an SQL condition for inserts: the engine is still in this run, and has lost no write. In a query of a distributed table,
 * only a subquery is evaluated by the server which the query was sent to, and not by each shard.
 */
export const whileRunLostNothing = (run: string): string =>
  run === '' ? '1' : `(SELECT getMacro('${RUN_MACRO}')) = '${run}' AND ${LOST_WRITES} = 0`
