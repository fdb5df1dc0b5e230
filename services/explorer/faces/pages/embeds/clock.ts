import { html } from '../../../../design/html.js'
import { titleOf } from '../../../../../pipelines/chain/networks.js'
import { blocks } from '../../../core/reads/chain/blocks.js'
import { miningRetarget } from '../../../core/reads/statistics/mining.js'
import { share, stat, stats } from '../components/elements.js'
import { feeRates } from '../components/estimates.js'
import { halving } from '../components/halving.js'
import { signedPercent, whenChanged, withoutBlocks } from '../components/retarget.js'
import { bareLayout, theme } from './frame.js'
import { filled } from '../format.js'
import { declareIn } from '../page.js'

/** A clock of blocks for a screen on a wall. */
export const clock = declareIn(
  (content, frame, given) => bareLayout(content, frame, { theme: given.theme, isEmbedded: false }),
  {
    name: 'clock',
    path: '/clock',
    args: { theme },
    async view(page) {
      const { t, f, to, read, network } = page
      const [
        {
          items: [newest],
        },
        retarget,
        rates,
      ] = await Promise.all([
        read(blocks, { limit: 1 }),
        read(miningRetarget, {}).catch(withoutBlocks),
        feeRates(page),
      ])
      const period =
        retarget === undefined || retarget.blocks_left === null || retarget.interval === 1
          ? undefined
          : retarget
      const body = html`<article class="clock">
        <p class="soft">
          <a href="${to('/')}">${t.site.name}</a>
          ${network === undefined ? undefined : html`· ${titleOf(network)}`}
        </p>
        <h1>
          ${newest === undefined ? '–' : html`<a href="${to(`/block/${newest.hash}`)}">${f.number(newest.height)}</a>`}
        </h1>
        ${newest === undefined ? undefined : html`<p class="since">${filled(t.front.lastBlock, f.age(newest.timestamp))}</p>`}
        ${rates}
        ${stats([
          period &&
            stat(
              t.mining.nextChange,
              period.expected_change === null
                ? whenChanged(page, period)
                : signedPercent(page, period.expected_change),
              html`${period.expected_change === null ? undefined : whenChanged(page, period)}${share((100 * (period.interval - (period.blocks_left ?? 0))) / period.interval)}`,
            ),
          halving(page),
        ])}
      </article>`
      return { title: t.nav.clock, body, channels: ['mempool'] }
    },
  },
)
