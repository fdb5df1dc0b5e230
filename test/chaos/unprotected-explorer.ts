/** The explorer without the check of the tags of rows in memory; otherwise as services/explorer/main.ts. */
import { serve } from '../../services/explorer/host/serve.js'
import { CanonicalBlocks } from '../../services/explorer/core/tables/canonical-blocks.js'
import { runService } from '../../services/process/lifecycle.js'

CanonicalBlocks.prototype.has = function (height) {
  return height < this.length
}

await runService('explorer', serve)
