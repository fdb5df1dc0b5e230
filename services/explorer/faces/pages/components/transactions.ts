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
import { blockLink, quantum, txLink } from './elements.js'
import { partyLink, recipientLink, spentLink, storedText } from './scripts.js'
import { table } from './table.js'

/** The number of inputs and of outputs that a list shows of a transaction. */
const SHOWN = 5

/** The number of bytes of a script that a card needs: of a Dilithium key, or of a multisig script with several plain keys. */
const MAX_SCRIPT = 1_536

/** The parts of a transaction that its card shows. */
export const CARD: TxDetail = {
  inputs: { from: 0, count: SHOWN },
  outputs: { from: 0, count: SHOWN },
  witness: false,
  maxBytes: MAX_SCRIPT,
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
export const feeRateOf = ({ f }: PageContext, { fee, vsize }: Pick<Transaction, 'fee' | 'vsize'>): string =>
  f.rate(f.number((Number(fee) / vsize).toFixed(2)))

const inputOf = (page: PageContext, input: Input): Html =>
  input.prev_txid === null
    ? html`<li><span class="soft">${page.t.tx.newCoins}</span></li>`
    : html`<li>
        ${spentLink(page, input, MAX_SCRIPT)}${input.value === null ? undefined : page.f.amount(input.value)}
      </li>`

const outputOf = (page: PageContext, output: Output): Html =>
  html`<li>
    <span>${recipientLink(page, output, MAX_SCRIPT)}${storedText(output)}</span>${page.f.amount(output.value)}
  </li>`

/** Returns unconfirmed transactions as a table. */
export function mempoolTable(page: PageContext, caption: string, items: readonly MempoolTransaction[]): Html {
  const { t, f } = page
  return table(
    caption,
    [
      { title: t.words.transaction },
      { title: t.words.age },
      { title: f.inCoins(t.words.value), isNumber: true },
      { title: f.rateUnit, isNumber: true },
    ],
    items.map((tx) => ({
      key: `m-${tx.txid}`,
      cells: [
        html`${txLink(page, tx.txid)} ${tx.is_dilithium ? quantum(page) : undefined}`,
        f.age(tx.first_seen),
        f.bare(tx.value),
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
    return html`${partyLink(page, first)}${more}`
  }
  return table(
    caption,
    [
      { title: t.words.transaction },
      { title: t.words.block },
      { title: f.inCoins(t.words.amount), isNumber: true },
      { title: t.words.from },
      { title: t.words.to },
    ],
    items.map((alert) => ({
      key: `w-${alert.txid}`,
      cells: [
        html`${txLink(page, alert.txid)} ${alert.is_dilithium ? quantum(page) : undefined}`,
        alert.block_height === null ? t.words.unconfirmed : blockLink(page, alert.block_height),
        f.bare(alert.value),
        party(alert.from, alert.from_count),
        party(alert.to, alert.to_count),
      ],
    })),
  )
}
