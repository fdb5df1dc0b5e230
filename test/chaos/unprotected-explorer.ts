/** The explorer without one protection, which the first argument names; otherwise as services/explorer/main.ts. */
import { serve } from '../../services/explorer/host/serve.js'
import { CanonicalBlocks } from '../../services/explorer/core/tables/canonical-blocks.js'
import { Session } from '../../services/explorer/faces/electrum/session.js'
import { runService } from '../../services/process/lifecycle.js'

await runService('explorer', async (context) => {
  const [without] = context.args
  // Not the check of the tags of rows in memory.
  if (without === 'tags')
    CanonicalBlocks.prototype.has = function (height) {
      return height < this.length
    }
  if (without === 'notifications') Session.prototype.statusChanged = () => undefined
  await serve(context)
})
