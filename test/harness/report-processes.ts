import { afterEach } from 'vitest'
import { ServiceProcess } from './processes.js'

// The error of a failed test rarely shows the cause of a process's failure, and the process's log is removed with the
// test's folder.
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const each of ServiceProcess.started) console.error(each.report())
})
