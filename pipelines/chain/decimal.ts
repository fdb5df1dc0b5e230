/**
 * Returns `part` as a percentage of `whole`, neither negative: a decimal with a fixed number of places, rounded half up. The result
 * is 0 if `whole` is 0.
 */
export function percentOf(part: bigint, whole: bigint, places: number): string {
  const scale = 10n ** BigInt(places)
  const scaled = whole === 0n ? 0n : (part * 100n * scale * 2n + whole) / (whole * 2n)
  return `${String(scaled / scale)}.${String(scaled % scale).padStart(places, '0')}`
}
