/** The thread of ScriptChangesMaker: a job contains the events of blocks, the reply their rows and script changes. */
import { answerJobs } from '../../worker-thread.js'
import { type BlockEvents, type Made, madeFrom } from './script-changes.js'

answerJobs(
  (job: BlockEvents) => madeFrom(job),
  ({ rows, scriptChanges }: Made) =>
    [...Object.values<unknown>({ ...scriptChanges }), ...rows.map(({ bytes }) => bytes)]
      .filter((each) => ArrayBuffer.isView(each))
      .map(({ buffer }) => buffer as ArrayBuffer),
)
