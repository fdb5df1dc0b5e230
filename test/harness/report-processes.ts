import { afterEach } from 'vitest'
import { ServiceProcess } from './processes.js'

// What a failed test saw of a process is rarely its cause, and the log no longer exists with the test's folder.
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const each of ServiceProcess.started) console.error(each.report())
})
