import type { Format } from '../../format.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Steps between the ticks of times, in milliseconds, and above in months. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30].map((each) => each * MINUTE)
const HOUR_STEPS = [1, 2, 3, 6, 12].map((each) => each * HOUR)
const DAY_STEPS = [1, 2, 4, 7, 14].map((each) => each * DAY)
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120]
const MONTH = 30.5 * DAY
/** A date with a time of day needs more room than a date. */
const LONG_LABELS = 5
/** 1970-01-01 was a Thursday: weeks begin on Monday. */
const MONDAY = 4 * DAY

/** A mark of an axis. */
export interface Tick {
  readonly value: number
  readonly label: string
  /** True for a time of day, which the client shows in the zone of the reader. */
  readonly isClock?: boolean
}

/** Returns multiples of 1, 2 or 5 times a power of ten from `least` to `most`, about as many as given. */
export function roundNumbers(least: number, most: number, count: number, smallest = 0): number[] {
  const step = roundStep((most - least) / count, smallest)
  const ticks: number[] = []
  for (let index = Math.ceil(least / step - 1e-9); index * step <= most + step * 1e-9; index++)
    // Powers of ten below 1 are not exact: 3 * 0.1.
    ticks.push(step < 1 ? Number((index * step).toPrecision(12)) : index * step)
  return ticks
}

/** Returns the smallest of 1, 2 or 5 times a power of ten that is not below a number. @param smallest the smallest step. */
export function roundStep(least: number, smallest = 0): number {
  if (least <= 0) return smallest === 0 ? 1 : smallest
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least * (1 - 1e-9))
  return Math.max(smallest, step ?? 10 * power)
}

/** Returns ticks of whole numbers, such as heights. */
export const numberTicks = (f: Format, least: number, most: number, count: number): Tick[] =>
  roundNumbers(least, most, count, 1).map((value) => ({ value, label: f.number(value) }))

/**
 * Returns ticks at the beginnings of minutes, hours, days, weeks, months or years of UTC, each with a different label.
 * @param least Unix milliseconds, as `most`.
 * @param count the largest number of ticks.
 */
export function timeTicks(f: Format, least: number, most: number, count: number): Tick[] {
  const span = most - least
  const isLongerThanDay = Math.floor(least / DAY) !== Math.floor(most / DAY)
  const clocks = Math.min(count, isLongerThanDay ? LONG_LABELS : count)
  const clock = [...TIME_STEPS, ...HOUR_STEPS].find((step) => span / step <= clocks)
  if (clock !== undefined)
    return multiples(least, most, clock).map((value) => ({
      value,
      label: f.axisTime(value, isLongerThanDay ? 'dateAndClock' : 'clock'),
      isClock: true,
    }))
  const day = DAY_STEPS.find((step) => span / step <= count)
  if (day !== undefined)
    return multiples(least, most, day, day % (7 * DAY) === 0 ? MONDAY : 0).map((value) => ({
      value,
      label: f.axisTime(value, 'date'),
    }))
  const months = MONTH_STEPS.find((step) => span / (step * MONTH) <= count) ?? 120
  return monthsOf(least, most, months).map((value) => ({
    value,
    label: f.axisTime(value, months >= 12 ? 'year' : 'month'),
  }))
}

/** Returns the multiples of a step between two numbers, counted from an origin. */
function multiples(least: number, most: number, step: number, origin = 0): number[] {
  const first = Math.ceil((least - origin) / step) * step + origin
  return Array.from(
    { length: Math.max(0, Math.floor((most - first) / step) + 1) },
    (_, at) => first + at * step,
  )
}

/** Returns the beginnings of every so many months of UTC. */
function monthsOf(least: number, most: number, step: number): number[] {
  const from = new Date(least)
  const begin = from.getUTCFullYear() * 12 + from.getUTCMonth()
  const ticks: number[] = []
  for (let month = Math.floor(begin / step) * step; ; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12)
    if (at > most) return ticks
    if (at >= least) ticks.push(at)
  }
}
