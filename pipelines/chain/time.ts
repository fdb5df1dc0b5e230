/** The number of seconds in a UTC day. */
export const DAY_SECONDS = 86_400

/** Returns the UTC day of a time in Unix seconds, counted from 1970-01-01. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY_SECONDS)
}

/** Returns the date `YYYY-MM-DD` of a day counted from 1970-01-01. */
export function dateOf(day: number): string {
  return new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10)
}

/** Returns the day of a date `YYYY-MM-DD`, undefined if the calendar does not have it. */
export function dayOfDate(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  const milliseconds = Date.parse(`${date}T00:00:00Z`)
  if (Number.isNaN(milliseconds)) return undefined
  const day = dayOf(milliseconds / 1000)
  return dateOf(day) === date ? day : undefined
}

/** Returns a time as ISO 8601 in UTC. @param seconds Unix time. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
