import { html, type Html, type Part } from '../../../../design/html.js'
import type {
  Input,
  MempoolTransaction,
  Output,
  Transaction,
  WhaleAlert,
} from '../../../core/reads/shapes.js'
import type { BriefAlert } from '../../../core/reads/mempool/whale-rows.js'
import type { TxDetail } from '../../../core/reads/read.js'
import type { PageContext } from '../page.js'
import { addressLink, blockLink, quantum, txLink } from './elements.js'
import { table } from './table.js'

/** The number of inputs and of outputs that a list shows of a transaction. */
const SHOWN = 5

/** The parts of a transaction that its card shows. */
export const CARD: TxDetail = {
  inputs: { from: 0, count: SHOWN },
  outputs: { from: 0, count: SHOWN },
  witness: false,
  maxBytes: 128,
}

/** Returns a transaction of a list, with the beginning of its inputs and outputs. */
export function transactionCard(page: PageContext, tx: Transaction): Html {
  const { t, f } = page
  const hidden = (count: number): Part =>
    count > SHOWN ? html`<li class="soft">${t.words.more(f.number(count - SHOWN))}</li>` : undefined
  return html`<article class="tx" id="t-${tx.txid}">
    <header>
      ${txLink(page, tx.txid)} ${tx.is_dilithium ? quantum(page) : undefined}<span class="fee"
        >${
          tx.is_coinbase
            ? t.words.coinbase
            : html`${t.words.fee} ${f.amount(tx.fee)} <small>${feeRateOf(page, tx)}</small>`
        }</span
      >
    </header>
    <div class="sides">
      <ul>
        ${tx.inputs.slice(0, SHOWN).map((input) => inputOf(page, input))}${hidden(tx.input_count)}
      </ul>
      <ul>
        ${tx.outputs.slice(0, SHOWN).map((output) => outputOf(page, output))}${hidden(tx.output_count)}
      </ul>
    </div>
  </article>`
}

/** Returns the fee rate of a transaction, rounded to two decimals. */
export const feeRateOf = (
  { f, t }: PageContext,
  { fee, vsize }: Pick<Transaction, 'fee' | 'vsize'>,
): string => `${f.number((Number(fee) / vsize).toFixed(2))} ${t.words.perVbyte}`

const inputOf = (page: PageContext, { address, value, prev_txid }: Input): Html =>
  prev_txid === null
    ? html`<li><span class="soft">${page.t.tx.newCoins}</span></li>`
    : html`<li>${addressLink(page, address)}${value === null ? undefined : page.f.amount(value)}</li>`

const outputOf = (page: PageContext, output: Output): Html =>
  html`<li>${recipient(page, output)}${page.f.amount(output.value)}</li>`

/** Returns whom an output pays. */
export const recipient = (page: PageContext, { addresses, script_type }: Output): Html =>
  script_type === 'nulldata'
    ? html`<span class="soft">OP_RETURN</span>`
    : addressLink(page, addresses[0]?.address)

/** Returns unconfirmed transactions as a table. */
export function mempoolTable(page: PageContext, caption: string, items: readonly MempoolTransaction[]): Html {
  const { t, f } = page
  return table(
    caption,
    [
      { title: t.words.transaction },
      { title: t.words.age, isMinor: true },
      { title: t.words.value, isNumber: true },
      { title: t.words.feeRate, isNumber: true },
    ],
    items.map((tx) => ({
      key: `m-${tx.txid}`,
      cells: [
        html`${txLink(page, tx.txid)} ${tx.is_dilithium ? quantum(page) : undefined}`,
        f.age(tx.first_seen),
        f.amount(tx.value),
        f.number(tx.effective_fee_rate),
      ],
    })),
  )
}

/** Returns large transactions as a table. */
export function largeTable(page: PageContext, caption: string, items: readonly BriefAlert[]): Html {
  const { t, f } = page
  const party = ([first]: WhaleAlert['from'], count?: number): Part => {
    if (first === undefined) return undefined
    const more = count !== undefined && count > 1 ? html` <small>+${count - 1}</small>` : undefined
    return html`${addressLink(page, first.address, first.label)}${more}`
  }
  return table(
    caption,
    [
      { title: t.words.transaction },
      { title: t.words.block },
      { title: t.words.from, isMinor: true },
      { title: t.words.to, isMinor: true },
      { title: t.words.amount, isNumber: true },
    ],
    items.map((alert) => ({
      key: `w-${alert.txid}`,
      cells: [
        html`${txLink(page, alert.txid)} ${alert.is_dilithium ? quantum(page) : undefined}`,
        alert.block_height === null ? t.words.unconfirmed : blockLink(page, alert.block_height),
        party(alert.from, alert.from_count),
        party(alert.to, alert.to_count),
        f.amount(alert.value),
      ],
    })),
  )
}
