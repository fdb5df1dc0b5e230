import { html, type Html, type Part } from '../../../../../design/html.js'
import { FUTURE_BLOCKS } from '../../../../core/forecast/futures.js'
import { CHANCES } from '../../../../core/reads/fees/forecast-shapes.js'
import { confirmationForecast, likelyRates } from '../../../../core/reads/fees/forecasts.js'
import { networkIn } from '../../../../core/reads/read.js'
import { accelerationOf } from '../../../../core/reads/mempool/acceleration.js'
import type { ConfirmationForecast, Transaction, TransactionPackage } from '../../../../core/reads/shapes.js'
import { MAX_PROJECTED_BLOCKS } from '../../../../core/state/projections.js'
import type { PageContext } from '../../page.js'
import { facts, section } from '../elements.js'
import { feeRateOf } from '../transactions.js'

/** The size of a transaction of an input and two outputs without Dilithium, in virtual bytes. */
const CHILD_VSIZE = 150

/** Returns when an unconfirmed transaction is expected to be confirmed, and what to pay for the next block. */
export async function confirmation(
  context: PageContext,
  tx: Transaction,
  related: TransactionPackage,
): Promise<Html> {
  const { t, at } = context
  const childVsize = tx.is_dilithium ? tx.vsize : CHILD_VSIZE
  const { nextBlock } = await likelyRates(context, networkIn(context))
  const acceleration = await accelerationOf(related, context, childVsize, nextBlock)
  const paying = (fee: bigint, vsize: number): Html => amountAndRate(context, fee, vsize)
  const forecast = await context.read(confirmationForecast, { feeRate: related.effective_fee_rate })
  const rows: [string, Part][] = [
    [t.confirmation.expected, expectation(context, related, forecast)],
    ...chances(context, forecast),
    [t.confirmation.needed, nextBlock === null ? undefined : needed(context, nextBlock)],
  ]
  if (acceleration !== undefined)
    rows.push(
      [
        t.confirmation.replace,
        html`${paying(acceleration.replacement, tx.vsize)} <small>${t.confirmation.replaceAbout}</small>`,
      ],
      [
        t.confirmation.child,
        html`${paying(acceleration.child, childVsize)}
          <small>${t.confirmation.childAbout(context.f.number(childVsize))}</small>`,
      ],
    )
  const watch = html`<button
    class="notify"
    type="button"
    data-status="${at(`/api/v1/tx/${tx.txid}/status`)}"
    data-watching="${t.confirmation.watching}"
    data-denied="${t.confirmation.denied}"
    data-confirmed="${t.confirmation.confirmed}"
    data-gone="${t.confirmation.gone}"
    hidden
  >
    ${t.confirmation.notify}
  </button>`
  return section(t.confirmation.title, html`${facts(rows)}${watch}`)
}

/** Returns within how many blocks, and how much time, a transaction is confirmed with which chance. */
function chances({ t, f }: PageContext, { blocks, minutes }: ConfirmationForecast): [string, string][] {
  return (['likely', 'safe'] as const).map((name) => {
    const within = blocks[name]
    const time = f.duration(Number(minutes[name] ?? 0) * 60)
    return [
      t.confirmation.chance(f.percent(100 * CHANCES[name])),
      within === null
        ? t.confirmation.notWithin(f.number(FUTURE_BLOCKS))
        : t.confirmation.within(f.number(within), time),
    ]
  })
}

/** Returns the projected block of a transaction, and about when that will be mined. */
function expectation(
  { t, f }: PageContext,
  { projected }: TransactionPackage,
  { blockSeconds }: ConfirmationForecast,
): string {
  if (projected === null) return t.confirmation.later(f.number(MAX_PROJECTED_BLOCKS))
  const time = f.duration(projected.block * Number(blockSeconds))
  return projected.block === 1
    ? t.confirmation.inNext(time)
    : t.confirmation.inBlock(f.number(projected.block), time)
}

/** Returns the fee rate that probably suffices for the next block. */
const needed = ({ t, f }: PageContext, rate: string): string =>
  `${t.script.atLeast(f.rate(f.number(rate)))} (${t.mempool.chance(f.percent(100 * CHANCES.likely))})`

const amountAndRate = (context: PageContext, fee: bigint, vsize: number): Html =>
  html`${context.f.amount(String(fee))} (${feeRateOf(context, { fee: String(fee), vsize })})`
