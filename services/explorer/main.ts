import cluster from 'node:cluster'
import { setFlagsFromString } from 'node:v8'
import { runService } from '../process/lifecycle.js'

// After a collection the heap may grow by three quarters. By default it grows to several times its size: under load, an explorer
// that holds 60 MB would take more than 400. With half there are so many collections that under overload on two cores it answers
// less.
setFlagsFromString('--heap-growing-percent=75')

// Imported when needed: the primary of several processes needs neither the server nor the database, and stays small.
await runService('explorer', async (context) => {
  const { explorerProcesses } = context.config
  if (explorerProcesses > 1 && cluster.isPrimary)
    await (await import('./host/processes/supervisor.js')).supervise(context)
  else await (await import('./host/serve.js')).serve(context)
})
