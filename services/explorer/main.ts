import cluster from 'node:cluster'
import { runService } from '../lifecycle.js'

// Imported when needed: the primary of several processes needs neither the server nor the database, and stays small.
await runService('explorer', async (context) => {
  const { explorerProcesses } = context.config
  if (explorerProcesses > 1 && cluster.isPrimary)
    await (await import('./processes/supervisor.js')).supervise(context)
  else await (await import('./serve.js')).serve(context)
})
