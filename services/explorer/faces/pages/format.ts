import type { Coin } from '../../../../pipelines/chain/networks.js'
import { isoTime } from '../../../../pipelines/chain/time.js'
import { html, type Html } from '../../../design/html.js'

const DECIMALS = 8
const SUPERSCRIPT = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const UNITS = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z'] as const

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
const DAY = { day: 'numeric', month: 'short' } as const
const AXIS_STYLES = {
  clock: CLOCK,
  dateAndClock: { ...DAY, ...CLOCK },
  date: DAY,
  month: { month: 'short', year: 'numeric' },
  year: { year: 'numeric' },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>
type AxisStyle = keyof typeof AXIS_STYLES

/** The units of lengths of time, with their seconds. */
const LENGTHS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Formats figures in a language. Amounts are base units as decimal strings; no figure is rounded unless its method says so. */
export class Format {
  readonly #group: string
  readonly #point: string
  readonly #time: Intl.DateTimeFormat
  readonly #date: Intl.DateTimeFormat
  readonly #axis = new Map<AxisStyle, Intl.DateTimeFormat>()

  /** The places before which the digits of a number are separated, and the number of digits from which on they are. */
  readonly #places: RegExp
  readonly #least: number
  /** The space between a number and its percent sign. */
  readonly #percent: string

  /**
   * @param locale of Unicode, such as `en-GB`.
   * @param coin the units of amounts. Not set: they have none, before the chain is known.
   */
  constructor(
    private readonly locale: string,
    private readonly coin?: Coin,
  ) {
    const parts = new Intl.NumberFormat(locale).formatToParts(1_234_567.8)
    const [, second] = parts.filter(({ type }) => type === 'integer')
    // In India: 12,34,567.
    this.#places = second?.value.length === 2 ? /\B(?=(?:\d{2})*\d{3}$)/g : /\B(?=(?:\d{3})+$)/g
    // In Spain: 1234 and 12.345.
    this.#least = new Intl.NumberFormat(locale).format(1_234).length > 4 ? 4 : 5
    const percent = new Intl.NumberFormat(locale, { style: 'percent' }).formatToParts(1)
    this.#percent = percent.find(({ type }) => type === 'literal')?.value ?? ''
    this.#group = parts.find(({ type }) => type === 'group')?.value ?? ','
    this.#point = parts.find(({ type }) => type === 'decimal')?.value ?? '.'
    this.#time = new Intl.DateTimeFormat(locale, {
      dateStyle: 'medium',
      timeStyle: 'medium',
      timeZone: 'UTC',
    })
    this.#date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  }

  /** Formats a decimal number with separated groups of digits. */
  number(value: number | string): string {
    const text = String(value)
    if (text.length < 4) return text.replace('.', this.#point)
    const [whole = '', fraction] = text.split('.')
    const grouped = whole.length < this.#least ? whole : whole.replace(this.#places, this.#group)
    return fraction === undefined ? grouped : grouped + this.#point + fraction
  }

  /** Returns an amount with its unit, and with all decimals, of which trailing zeros are subdued. */
  amount(base: string, isSigned = false): Html {
    return this.#amount(base, isSigned, this.coin && html` <span class="unit">${this.coin.unit}</span>`)
  }

  /** Returns an amount without its unit, for a column of a table whose title has it: see `inCoins`. */
  bare(base: string, isSigned = false): Html {
    return this.#amount(base, isSigned)
  }

  /** Returns the title of a column of amounts with their unit. */
  inCoins(title: string): Html {
    return html`${title}${this.coin && html`, <span class="unit">${this.coin.unit}</span>`}`
  }

  /** Returns an amount with its unit and without trailing zeros, for narrow places. */
  brief(base: string): Html {
    return html`<data class="amount brief" value="${base}"
      >${this.#brief(base)}${this.coin && html` <span class="unit">${this.coin.unit}</span>`}</data
    >`
  }

  /** Returns a fee rate with its unit. @param value in base units per virtual byte, decimal. */
  rate(value: string): string {
    return `${value} ${this.rateUnit}`
  }

  get rateUnit(): string {
    return `${this.coin?.baseUnit ?? ''}/vB`
  }

  /** A narrow place may break the line before the point. */
  #amount(base: string, isSigned: boolean, unit?: Html): Html {
    const { sign, whole, fraction } = partsOf(base)
    const significant = fraction.replace(/0+$/, '')
    const zeros = fraction.slice(significant.length)
    const plus = isSigned && sign === '' && base !== '0' ? '+' : sign
    const number = plus + this.number(whole)
    if (significant === '')
      return html`<data class="amount" value="${base}"
        >${number}<wbr /><span>${this.#point}${zeros}</span>${unit}</data
      >`
    return html`<data class="amount" value="${base}"
      >${number}<wbr />${this.#point}${significant}${zeros === '' ? undefined : html`<span>${zeros}</span>`}${unit}</data
    >`
  }

  /** Returns an amount with its unit as text, without trailing zeros. */
  plainAmount(base: string): string {
    const number = this.#brief(base)
    return this.coin === undefined ? number : `${number} ${this.coin.unit}`
  }

  #brief(base: string): string {
    const { sign, whole, fraction } = partsOf(base)
    const significant = fraction.replace(/0+$/, '')
    return sign + this.number(whole) + (significant === '' ? '' : this.#point + significant)
  }

  /** Formats a percentage, as given. */
  percent(value: string | number): string {
    return `${this.number(value)}${this.#percent}%`
  }

  /** Returns a size in bytes, rounded to three digits above 10,000. */
  size(bytes: number): string {
    return bytes < 10_000 ? `${this.number(bytes)} B` : `${this.short(bytes)}B`
  }

  /** Returns a number, rounded to three digits, with a space and a unit prefix after it: "12.3 k". */
  short(value: number | string): string {
    let number = Number(value)
    if (number > 0 && number < 0.01) return `${this.scientific(number, 2)} `
    let unit = 0
    while (number >= 999.5 && unit < UNITS.length - 1) {
      number /= 1000
      unit++
    }
    const digits = number === 0 ? '0' : number < 1 ? number.toFixed(2) : number.toPrecision(3)
    return `${this.number(digits)} ${UNITS[unit] ?? ''}`
  }

  /** Returns a difficulty, rounded to three digits. The element has all of them. */
  difficulty(value: string): Html {
    return html`<data value="${value}" title="${this.number(value)}">${this.short(value).trim()}</data>`
  }

  /** Returns a small number as a power of ten, rounded to some decimals: "4.66 × 10⁻¹⁰". */
  scientific(number: number, decimals: number): string {
    const [mantissa = '', exponent = ''] = number.toExponential(decimals).split('e')
    const raised = exponent.replace('-', '⁻').replace(/\d/g, (digit) => SUPERSCRIPT.charAt(Number(digit)))
    return `${this.number(mantissa)} × 10${raised}`
  }

  /** Returns a time in UTC; the client shows it in the reader's zone. @param iso ISO 8601. */
  time(iso: string): Html {
    return html`<time datetime="${iso}">${this.#time.format(new Date(iso))} UTC</time>`
  }

  /** Returns a time in UTC as text, in every language alike. @param seconds Unix time. */
  utc(seconds: number): string {
    return `${isoTime(seconds).slice(0, 19).replace('T', ' ')} UTC`
  }

  /** Returns a time whose age the client shows, and updates. Without a script it is the time of day. */
  age(iso: string): Html {
    return html`<time class="age" datetime="${iso}">${iso.slice(11, 19)} UTC</time>`
  }

  /** Returns a time of an axis in UTC. @param at Unix milliseconds. */
  axisTime(at: number, style: AxisStyle): string {
    let format = this.#axis.get(style)
    if (format === undefined) {
      format = new Intl.DateTimeFormat(this.locale, { ...AXIS_STYLES[style], timeZone: 'UTC' })
      this.#axis.set(style, format)
    }
    return format.format(at)
  }

  /** Returns a time whose age the client shows, and updates. Without a script it is date and time. */
  since(iso: string): Html {
    return html`<time class="age" datetime="${iso}">${this.#time.format(new Date(iso))} UTC</time>`
  }

  /** Returns a length of time in words, rounded to seconds, minutes, hours or days. @param seconds not negative. */
  duration(seconds: number): string {
    const found = LENGTHS.find(([, size]) => seconds >= size)
    const [unit, size] = found ?? LENGTHS[3]
    const format = new Intl.NumberFormat(this.locale, { style: 'unit', unit, unitDisplay: 'long' })
    return format.format(Math.round(seconds / size))
  }

  date(iso: string): Html {
    return html`<time datetime="${iso}" data-date>${this.#date.format(new Date(iso))}</time>`
  }
}

/** Returns a text with an element at the place that the text leaves for it, such as `{time}`. */
export function filled(text: string, element: Html): Html {
  const [before = '', after = ''] = text.split(/\{\w+\}/)
  return html`${before}${element}${after}`
}

function partsOf(base: string): { readonly sign: string; readonly whole: string; readonly fraction: string } {
  const sign = base.startsWith('-') ? '−' : ''
  const digits = (sign === '' ? base : base.slice(1)).padStart(DECIMALS + 1, '0')
  return { sign, whole: digits.slice(0, -DECIMALS), fraction: digits.slice(-DECIMALS) }
}
