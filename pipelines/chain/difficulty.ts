import type { Network } from './networks.js'

/** Returns the difficulty relative to Bitcoin's easiest target, as the node prints it: with 16 significant digits. */
export function difficultyOf(bits: number): string {
  return decimalString(Number(exactDifficulty(bits).toPrecision(16)))
}

/** Returns the difficulty relative to Bitcoin's easiest target, with the arithmetic of the node's GetDifficulty (doubles). */
export function exactDifficulty(bits: number): number {
  let shift = bits >>> 24
  const mantissa = bits & 0x00ff_ffff
  if (mantissa === 0) return 0
  let difficulty = 0x0000_ffff / mantissa
  for (; shift < 29; shift++) difficulty *= 256
  for (; shift > 29; shift--) difficulty /= 256
  return difficulty
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

/** Returns a target as the field `bits` of a header has it, without the digits that do not fit. */
function bitsOf(target: bigint): number {
  let size = Math.ceil(target.toString(16).length / 2)
  let mantissa = Number(size <= 3 ? target << BigInt(8 * (3 - size)) : target >> BigInt(8 * (size - 3)))
  // The highest bit of the mantissa would be a sign.
  if (mantissa > 0x007f_ffff) {
    mantissa >>= 8
    size++
  }
  return size * 0x0100_0000 + mantissa
}

/** The rule by which the difficulty changes. */
export type RetargetRule = Pick<Network, 'retarget' | 'blockSpacing'>

/** The fields of a block from which the difficulty of later blocks follows. */
export interface TimedBlock {
  readonly height: number
  /** Unix seconds. */
  readonly time: number
  readonly bits: number
}

/**
 * Returns the bits after a period with the arithmetic of Bitcoin Core's CalculateNextWorkRequired.
 * @param bits of the last block of the period; of its first one if the rule derives them from it.
 * @param timespan the seconds from the first to the last block of the period: between one block less than it has.
 */
export function nextBits(bits: number, timespan: number, { retarget, blockSpacing }: RetargetRule): number {
  const { interval, easiest, isFixed } = retarget
  if (isFixed === true) return bits
  const span = interval * blockSpacing
  const limited = Math.min(Math.max(timespan, Math.floor(span / 4)), span * 4)
  const target = (targetOf(bits) * BigInt(limited)) / BigInt(span)
  return easiest !== undefined && target > targetOf(easiest) ? easiest : bitsOf(target)
}

/** The period of a chain's newest block, at whose end the difficulty changes. */
export interface DifficultyPeriod {
  /** The bits of the period, without the exceptions of test networks. */
  readonly bits: number
  /** Those of the period before; undefined for the first one, or if it is not among the blocks. */
  readonly previousBits: number | undefined
  /** Height and time (unix seconds) of its first block. */
  readonly start: number
  readonly startTime: number
  /** Height of the first block of the next period; undefined if the difficulty never changes. */
  readonly next: number | undefined
  /** Seconds from the newest block to that block, at the pace of the period so far. */
  readonly secondsLeft: number | undefined
  /** The bits of the next period at that pace; undefined if the rule is not known, or before the second block of a period. */
  readonly expectedBits: number | undefined
}

/**
 * Returns the period of the newest block.
 * @param blocks the newest blocks of a chain, lowest first, those of the period among them; undefined is returned without any.
 */
export function difficultyPeriod(
  blocks: readonly TimedBlock[],
  rule: RetargetRule,
): DifficultyPeriod | undefined {
  const tip = blocks.at(-1)
  if (tip === undefined) return undefined
  const { interval, easiest, isFixed, fromFirst } = rule.retarget
  const at = (height: number): TimedBlock | undefined => blocks[height - tip.height + blocks.length - 1]
  const start = tip.height - (tip.height % interval)
  const first = at(start) ?? tip
  const done = tip.height - first.height
  const bits = lastRegular(tip.height, at, rule) ?? tip.bits
  const pace = done === 0 ? rule.blockSpacing : Math.max(0, tip.time - first.time) / done
  const next = isFixed === true ? undefined : start + interval
  const isKnown = next !== undefined && easiest !== undefined && done > 0
  const timespan = Math.round(pace * (interval - 1))
  // The node takes the bits of the last block even if it is an exception: testnet3 has lost its difficulty in this way.
  const last = done === interval - 1 ? tip.bits : bits
  return {
    bits,
    previousBits: lastRegular(start - 1, at, rule),
    start,
    startTime: first.time,
    next,
    secondsLeft: next === undefined ? undefined : Math.round(pace * (next - tip.height)),
    expectedBits: isKnown ? nextBits(fromFirst === true ? first.bits : last, timespan, rule) : undefined,
  }
}

/**
 * Returns the bits of the last block up to a height that is no exception: on some test networks a block that comes late may have the
 * easiest target, and the next one has that of the block before it again.
 */
function lastRegular(
  height: number,
  at: (height: number) => TimedBlock | undefined,
  { retarget: { interval, easiest, easyAfter } }: RetargetRule,
): number | undefined {
  let block = at(height)
  while (
    easyAfter !== undefined &&
    block !== undefined &&
    block.bits === easiest &&
    block.height % interval !== 0
  )
    block = at(block.height - 1)
  return block?.bits
}

/** Returns the change from one difficulty to another in percent, with a sign and two decimals. */
export function changeInPercent(from: number, to: number): string {
  const percent = (Number(targetOf(from)) / Number(targetOf(to)) - 1) * 100
  return percent.toFixed(2)
}
