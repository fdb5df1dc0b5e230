const BASE_UNITS = 100_000_000n

/** From here on a double no longer tells neighbouring base units apart. No chain may have more. */
export const MOST_COINS = 2 ** 26

/**
 * A node's JSON amount as base units, exactly: the double nearest to a decimal of eight places is, below 2²⁶ coins, less than
 * half a base unit away from it, so its own eight places are the decimal's.
 * @throws RangeError for what is no amount.
 */
export function coinsToBaseUnits(coins: number): bigint {
  if (!(coins >= 0 && coins < MOST_COINS)) throw new RangeError(`not an amount of coins: ${String(coins)}`)
  const text = coins.toFixed(8)
  if (Number(text) !== coins) throw new RangeError(`more than eight decimals: ${String(coins)}`)
  return BigInt(text.replace('.', ''))
}

/** Returns what coins are worth together, in base units; those that are not known count as nothing. */
export function sumOf(coins: readonly ({ readonly value: bigint } | undefined)[]): bigint {
  return coins.reduce((sum, coin) => sum + (coin?.value ?? 0n), 0n)
}

export function baseUnitsToCoins(units: bigint): number {
  return Number(`${String(units / BASE_UNITS)}.${String(units % BASE_UNITS).padStart(8, '0')}`)
}
