/** Returns the difficulty relative to Bitcoin's easiest target, with the arithmetic of the node's GetDifficulty (doubles). */
export function difficultyOf(bits: number): string {
  let shift = bits >>> 24
  const mantissa = bits & 0x00ff_ffff
  if (mantissa === 0) return '0'
  let difficulty = 0x0000_ffff / mantissa
  for (; shift < 29; shift++) difficulty *= 256
  for (; shift > 29; shift--) difficulty /= 256
  // The node prints 16 significant digits.
  return decimalString(Number(difficulty.toPrecision(16)))
}

/** Returns the work of a block with this target, 2²⁵⁶ ÷ (target + 1); 0 for targets that the node refuses. */
export function workOf(bits: number): bigint {
  const target = targetOf(bits)
  return target <= 0n || target >= 1n << 256n ? 0n : (1n << 256n) / (target + 1n)
}

function targetOf(bits: number): bigint {
  if ((bits & 0x0080_0000) !== 0) return 0n
  const exponent = bits >>> 24
  const mantissa = BigInt(bits & 0x007f_ffff)
  return exponent <= 3 ? mantissa >> BigInt(8 * (3 - exponent)) : mantissa << BigInt(8 * (exponent - 3))
}

/** Returns the shortest decimal that parses to a finite number, without an exponent. */
export function decimalString(value: number): string {
  const text = String(value)
  const parts = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text)
  if (parts === null) return text
  const [, sign = '', whole = '', fraction = '', power = '0'] = parts
  const exponent = Number(power)
  const digits = whole + fraction
  const point = whole.length + exponent
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return sign + digits.padEnd(point, '0')
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}
