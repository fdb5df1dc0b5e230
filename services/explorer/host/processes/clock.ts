/** Returns the time in milliseconds by the clock that all processes on this machine share, and that nothing sets. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1_000_000
}
