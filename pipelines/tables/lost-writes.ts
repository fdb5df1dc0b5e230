/**
 * chDB's ClickHouse, the embedded engine, goes on as if nothing had been when the disk refuses a write (its
 * `WriteBufferFromFileDescriptor` counts it and does not throw): an insert is acknowledged and a merge takes the place of its
 * sources, with empty files. Started again, the engine finds such parts broken, puts them aside and shows the sources. So it is
 * started again at once, and whoever writes makes nothing visible in a run that has lost a write, nor in one that began since.
 */

/** A macro of the embedded engine's configuration, another value in each run; other servers, which do throw, have none. */
export const RUN_MACRO = 'headwater_run'

const RUN = `(SELECT any(substitution) FROM system.macros WHERE macro = '${RUN_MACRO}')`

/** How many writes the disk refused in this run. */
export const LOST_WRITES =
  "(SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed')"

/** The run, empty for a server that is not the embedded engine, and what it lost. */
export const RUN_AND_LOST = `SELECT ${RUN} AS run, ${LOST_WRITES} AS lost`

/** A condition for inserts: it is still this run, and it has lost nothing. */
export const whileRunLostNothing = (run: string): string =>
  run === '' ? '1' : `${RUN} = '${run}' AND ${LOST_WRITES} = 0`
