import cluster from 'node:cluster'
import { setFlagsFromString } from 'node:v8'
import { runService } from '../lifecycle.js'

// After a collection the heap may grow by half. By default it grows to several times its size: under load, an explorer that holds
// 60 MB would take 300.
setFlagsFromString('--heap-growing-percent=50')

// Imported when needed: the primary of several processes needs neither the server nor the database, and stays small.
await runService('explorer', async (context) => {
  const { explorerProcesses } = context.config
  if (explorerProcesses > 1 && cluster.isPrimary)
    await (await import('./processes/supervisor.js')).supervise(context)
  else await (await import('./serve.js')).serve(context)
})
