import { Underivable } from './refusal.js'

/** The path below an extended key: numbers, alternatives of which each branch takes one, and at its end the index. */
export interface KeyPath {
  /** Each step with one number, or with one for each branch. */
  readonly steps: readonly (readonly number[])[]
  /** True if the index of the script follows the steps. */
  readonly isRanged: boolean
}

const MAX_STEP = 0x7fff_ffff
const MAX_STEPS = 32
const STEP = /^(?:\d{1,10}|<\d{1,10}(?:;\d{1,10})+>)$/

/** Parses a path, `/0/*` or with alternatives `/<0;1>/*`. @throws Underivable. */
export function parseKeyPath(text: string): KeyPath {
  if (text === '') return { steps: [], isRanged: false }
  const parts = text
    .replace(/\/\*\*$/, '/<0;1>/*')
    .slice(1)
    .split('/')
  if (/['hH]/.test(text))
    throw new Underivable('a path has a hardened step below a public key: only the private key can derive it')
  const isRanged = parts.at(-1) === '*'
  const steps = isRanged ? parts.slice(0, -1) : parts
  if (steps.length > MAX_STEPS || steps.some((step) => !STEP.test(step)))
    throw new Underivable('a path below an extended key is malformed')
  return { steps: steps.map(numbersOf), isRanged }
}

function numbersOf(step: string): number[] {
  const numbers = step.replace(/[<>]/g, '').split(';').map(Number)
  if (numbers.some((each) => each > MAX_STEP))
    throw new Underivable('a step of a path is larger than 2147483647')
  if (new Set(numbers).size < numbers.length)
    throw new Underivable('the alternatives of a path are not distinct')
  return numbers
}
