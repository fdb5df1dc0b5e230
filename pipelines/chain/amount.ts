const BASE_UNITS = 100_000_000n

/** The number of coins from which a double cannot distinguish neighbouring base units. The supply of a chain must be lower. */
export const MAX_COINS = 2 ** 26

/**
 * Converts a JSON amount of the node to base units, exactly. Below 2²⁶ coins, the double nearest to a decimal with eight places
 * differs from it by less than half a base unit, so rounding it to eight places results in that decimal.
 * @throws RangeError for an invalid amount.
 */
export function coinsToBaseUnits(coins: number): bigint {
  if (!(coins >= 0 && coins < MAX_COINS)) throw new RangeError(`not an amount of coins: ${String(coins)}`)
  const text = coins.toFixed(8)
  if (Number(text) !== coins) throw new RangeError(`more than eight decimals: ${String(coins)}`)
  return BigInt(text.replace('.', ''))
}

/** Returns the total value of coins in base units; unknown coins count as 0. */
export function sumOf(coins: readonly ({ readonly value: bigint } | undefined)[]): bigint {
  return coins.reduce((sum, coin) => sum + (coin?.value ?? 0n), 0n)
}

/** Converts base units to coins, as a JSON number. */
export function baseUnitsToCoins(units: bigint): number {
  return Number(`${String(units / BASE_UNITS)}.${String(units % BASE_UNITS).padStart(8, '0')}`)
}
