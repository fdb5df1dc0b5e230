import { showUnits } from './stored/units.js'

const locale = document.documentElement.lang
const [language = locale] = locale.split('-')
/** The reader's region, if the page is in a language of theirs: it decides how times are written. */
export const region = navigator.languages.find((each) => each.startsWith(`${language}-`)) ?? locale
/** With the name of the zone, but in the cells of tables, which are narrow. */
const TIME = new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'long' })
const CELL = new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'medium' })
const elapsedIn = (style: 'narrow' | 'short') =>
  new Intl.RelativeTimeFormat(region, { numeric: 'always', style })
const NARROW = elapsedIn('narrow')
// In French, "-3 min" is the narrow form of "il y a 3 min".
const ELAPSED = NARROW.format(-1, 'minute').startsWith('-') ? elapsedIn('short') : NARROW
const STEP_MS = 1_000

/** Shows the times of a document or element in the zone of the reader, and its amounts in their unit. Dates are of UTC days and stay. */
export function localise(root: Document | Element): void {
  const isTime = root instanceof Element && root.matches('time')
  const times = isTime ? [root] : [...root.querySelectorAll('time')]
  for (const time of times.filter((each) => !each.matches('[data-date], .age'))) {
    const at = time.getAttribute('datetime') ?? ''
    time.textContent = (time.closest('td') === null ? TIME : CELL).format(new Date(at))
    time.setAttribute('title', at)
  }
  for (const time of times) if (time.matches('.age')) showAge(time)
  showUnits(root)
}

/** Updates the ages that the page shows. */
export function startAges(): void {
  setInterval(() => {
    if (!document.hidden) for (const time of document.querySelectorAll('time.age')) showAge(time)
  }, STEP_MS)
}

function showAge(time: Element): void {
  const at = time.getAttribute('datetime') ?? ''
  const text = ageOf((Date.now() - Date.parse(at)) / 1000)
  if (time.textContent !== text) time.textContent = text
  if (!time.hasAttribute('title')) time.setAttribute('title', TIME.format(new Date(at)))
}

/** @param seconds may be negative: times of blocks may be in the future. */
function ageOf(seconds: number): string {
  const past = Math.max(0, Math.round(seconds))
  if (past < 60) return ELAPSED.format(-past, 'second')
  if (past < 3600) return ELAPSED.format(-Math.floor(past / 60), 'minute')
  if (past < 86_400) return ELAPSED.format(-Math.floor(past / 3600), 'hour')
  return ELAPSED.format(-Math.floor(past / 86_400), 'day')
}
