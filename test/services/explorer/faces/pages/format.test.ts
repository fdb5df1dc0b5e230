import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Format } from '../../../../../services/explorer/faces/pages/format.js'

const en = new Format('en-GB')
const de = new Format('de-DE')
const textOf = (html: { readonly text: string }): string => html.text.replace(/<[^>]*>/g, '').trim()

describe('an amount', () => {
  it.each([
    ['0', '0.00000000', '0,00000000'],
    ['1', '0.00000001', '0,00000001'],
    ['123456789012', '1,234.56789012', '1.234,56789012'],
    ['-150000000', '−1.50000000', '−1,50000000'],
  ])('%s has all its decimals', (base, english, german) => {
    expect(textOf(en.amount(base))).toBe(english)
    expect(textOf(de.amount(base))).toBe(german)
  })

  it('shows every base unit of any amount, and is in the markup as it is in the API', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), (value) => {
        const shown = en.amount(String(value))
        expect(shown.text).toContain(`value="${String(value)}"`)
        const digits = textOf(shown).replaceAll(',', '').replace('.', '').replace('−', '-')
        expect(BigInt(digits)).toBe(value)
      }),
    )
  })

  it('has a sign if it is a change', () => {
    expect(textOf(en.amount('100000000', true))).toBe('+1.00000000')
    expect(textOf(en.amount('0', true))).toBe('0.00000000')
  })
})

describe('a number', () => {
  it.each([
    ['en-GB', '1,234', '12,345.6', '7%'],
    ['de-DE', '1.234', '12.345,6', '7 %'],
    ['es-ES', '1234', '12.345,6', '7 %'],
    ['es-419', '1,234', '12,345.6', '7%'],
    ['fr-FR', '1 234', '12 345,6', '7 %'],
    ['pt-PT', '1234', '12 345,6', '7%'],
    ['pt-BR', '1.234', '12.345,6', '7%'],
    ['ja-JP', '1,234', '12,345.6', '7%'],
  ])('is written as in %s', (locale, four, five, percent) => {
    const format = new Format(locale)
    // Versions of Unicode differ in which space does not break.
    const written = [format.number(1_234), format.number('12345.6'), format.percent(7)]
    expect(written.map((each) => each.replace(/\s/g, ' '))).toEqual([four, five, percent])
  })
})

describe('an amount with its unit', () => {
  const coins = new Format('en-GB', { name: 'Coin', unit: 'COIN', baseUnit: 'grain' })

  it('is without trailing zeros in narrow places, with its base units in the markup', () => {
    expect(textOf(coins.brief('150000000'))).toBe('1.5 COIN')
    expect(textOf(coins.brief('-100000000000'))).toBe('−1,000 COIN')
    expect(coins.brief('150000000').text).toContain('value="150000000"')
    expect(textOf(coins.inCoins('Value'))).toBe('Value, COIN')
    expect(coins.rate('2')).toBe('2 grain/vB')
  })
})

describe('a length of time', () => {
  it.each([
    [0, '0 seconds', '0 Sekunden'],
    [59, '59 seconds', '59 Sekunden'],
    [60, '1 minute', '1 Minute'],
    [3_599, '60 minutes', '60 Minuten'],
    [5_400, '2 hours', '2 Stunden'],
    [172_800, '2 days', '2 Tage'],
  ])('of %i seconds is in words', (seconds, english, german) => {
    expect(en.duration(seconds)).toBe(english)
    expect(de.duration(seconds)).toBe(german)
  })
})

describe('a number', () => {
  it.each([
    ['999', '999'],
    ['1000', '1,000'],
    ['1234567.25', '1,234,567.25'],
    [12, '12'],
  ])('%s has groups of three digits', (value, shown) => {
    expect(en.number(value)).toBe(shown)
  })

  it.each([
    ['0', '0 '],
    ['0.034', '0.03 '],
    ['0.00000000046565', '4.66 × 10⁻¹⁰ '],
    ['12', '12.0 '],
    ['999.4', '999 '],
    ['999.6', '1.00 k'],
    ['1234567', '1.23 M'],
    ['74629609035466610000', '74.6 E'],
  ])('%s is shortened to three digits', (value, shown) => {
    expect(en.short(value)).toBe(shown)
  })
})
