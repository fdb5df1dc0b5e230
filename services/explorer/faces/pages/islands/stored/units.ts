/** The switch; null before the explorer knows its chain. */
const button = document.querySelector<HTMLButtonElement>('button.units')
const { coin = '', base = '', name = '' } = button?.dataset ?? {}
const NUMBER = new Intl.NumberFormat(document.documentElement.lang)
const BASE_PER_COIN = 1e8
const DECIMALS = 8
const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E']
/** The key of the choice of the reader, who sees coins without one. */
const KEY = 'unit'

const isBase = (): boolean => base !== '' && localStorage.getItem(KEY) === 'base'

/** Shows the amounts of a document or element in the unit that the reader has chosen. The server sends them in coins. */
export function showUnits(root: Document | Element): void {
  const isShownInBase = isBase()
  const select = (selector: string): Element[] => [
    ...(root instanceof Element && root.matches(selector) ? [root] : []),
    ...root.querySelectorAll(selector),
  ]
  for (const amount of select('data.amount')) convert(amount, isShownInBase, inBase)
  // The labels of axes, in coins.
  for (const label of select('svg [data-coins]')) convert(label, isShownInBase, shortInBase)
  for (const unit of select('th .unit')) unit.textContent = isShownInBase ? base : coin
}

/** Writes an amount in base units, or again as the server has sent it, which an attribute keeps. */
function convert(element: Element, isShownInBase: boolean, textOf: (element: Element) => string): void {
  const sent = element.getAttribute('data-sent')
  if (isShownInBase && sent === null) {
    element.setAttribute('data-sent', element.innerHTML)
    element.innerHTML = textOf(element)
  } else if (!isShownInBase && sent !== null) {
    element.innerHTML = sent
    element.removeAttribute('data-sent')
  }
}

function inBase(element: Element): string {
  const { value } = element as HTMLDataElement
  const sign = element.textContent.startsWith('+') ? '+' : ''
  const unit = element.querySelector('.unit') === null ? '' : ` <span class="unit">${base}</span>`
  return sign + NUMBER.format(BigInt(value)).replace('-', '−') + unit
}

/** Writes the label of an axis with a unit prefix, as the server does for coins: "billion" begins with B in few languages. */
function shortInBase(element: Element): string {
  const value = Number(element.getAttribute('data-coins')) * BASE_PER_COIN
  const power = Math.min(PREFIXES.length - 1, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3))
  return NUMBER.format(value / 1000 ** power) + (PREFIXES[power] ?? '')
}

/** Makes the switch of the unit work, and copies an amount that is selected alone as a plain number. */
export function startUnits(): void {
  if (button === null) return
  const label = (): void => {
    const unit = isBase() ? base : coin
    button.textContent = unit
    button.title = `${name}: ${unit}`
    button.setAttribute('aria-label', button.title)
  }
  const change = (): void => {
    label()
    showUnits(document)
  }
  button.addEventListener('click', () => {
    if (isBase()) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, 'base')
    change()
  })
  button.hidden = false
  label()
  // Another tab has changed it.
  addEventListener('storage', ({ key }) => {
    if (key === KEY) change()
  })
  document.addEventListener('copy', (event) => {
    const amount = selectedAmount()
    if (amount === undefined) return
    event.clipboardData?.setData('text/plain', isBase() ? amount : inCoins(amount))
    event.preventDefault()
  })
}

/** Returns the amount that is selected alone, with or without its unit, in base units; undefined for any other selection. */
function selectedAmount(): string | undefined {
  const selection = getSelection()
  if (selection?.rangeCount !== 1) return undefined
  const range = selection.getRangeAt(0)
  const { commonAncestorContainer: around } = range
  const parent = around instanceof Element ? around : around.parentElement
  const amount =
    parent?.closest<HTMLDataElement>('data.amount') ??
    [...(parent?.querySelectorAll<HTMLDataElement>('data.amount') ?? [])].find((each) =>
      range.intersectsNode(each),
    )
  if (amount === undefined) return undefined
  const whole = plain(amount.textContent)
  const unit = plain(amount.querySelector('.unit')?.textContent ?? '')
  const selected = plain(selection.toString())
  return selected === whole || selected + unit === whole ? amount.value : undefined
}

/** Returns the letters and digits of a text. */
const plain = (text: string): string => text.replace(/[^\p{L}\d]/gu, '')

/** Returns an amount in coins, as a plain decimal number. */
function inCoins(value: string): string {
  const sign = value.startsWith('-') ? '-' : ''
  const digits = value.replace('-', '').padStart(DECIMALS + 1, '0')
  return `${sign}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '')
}
