import { subsidy } from '../../../../../pipelines/chain/networks.js'
import { html, type Html } from '../../../../design/html.js'
import type { PageContext } from '../page.js'
import { stat } from './elements.js'

/** Returns when the subsidy of a block halves next, and what it is then; nothing before the first block, or if it stays as it is. */
export function halving({ t, f, chain, network }: PageContext): Html | undefined {
  const { tip } = chain
  if (network === undefined || tip === undefined) return undefined
  const { halvingInterval, blockSpacing } = network
  const height = (Math.floor(tip.height / halvingInterval) + 1) * halvingInterval
  const after = subsidy(height, network)
  if (after === subsidy(tip.height, network)) return undefined
  const left = height - tip.height
  const time = new Date((tip.time + left * blockSpacing) * 1000).toISOString()
  return stat(
    t.mining.halving,
    f.date(time),
    html`${t.mining.inBlocks(f.number(left))}, ${t.mining.subsidyAfter} ${f.brief(String(after))}`,
  )
}
