import type { Transaction } from '../../../../core/reads/shapes.js'
import type { PageContext } from '../../page.js'

/** The sequence of an input that neither signals replacement nor is subject to the locktime. */
const FINAL = 0xffff_ffff
/** The highest sequence by which an input signals that its transaction may be replaced (BIP 125). */
const MAX_SIGNALLING = 0xffff_fffd
/** The bits of a sequence of BIP 68. */
const DISABLED = 0x8000_0000
const IS_TIME = 0x0040_0000
const VALUE = 0xffff
const SECONDS_PER_UNIT = 512
/** The version of transactions from which on sequences are relative locks. */
const LOCKING_VERSION = 2
/** Locktimes below are heights, others are unix seconds. */
const FIRST_TIME = 500_000_000

const has = (sequence: number, bit: number): boolean => (sequence & bit) !== 0

/** Returns a sequence and what it demands, in words. @param version of the transaction. */
export function sequenceText(
  { t, f }: Pick<PageContext, 't' | 'f'>,
  sequence: number,
  version: number,
): string {
  const hex = `0x${sequence.toString(16).padStart(8, '0')}`
  if (sequence === FINAL) return `${hex}: ${t.tx.final}`
  const value = sequence & VALUE
  const isLocked = version >= LOCKING_VERSION && !has(sequence, DISABLED) && value > 0
  const minutes = Math.ceil((value * SECONDS_PER_UNIT) / 60)
  const words = [
    sequence <= MAX_SIGNALLING ? t.tx.signals : t.tx.signalsNot,
    !isLocked
      ? undefined
      : has(sequence, IS_TIME)
        ? t.tx.lockedMinutes(f.number(minutes))
        : t.tx.lockedBlocks(f.number(value)),
  ]
  return `${hex}: ${words.filter((each) => each !== undefined).join('; ')}`
}

type Shown = Pick<Transaction, 'locktime' | 'input_count'> & {
  readonly inputs: readonly Pick<Transaction['inputs'][number], 'sequence'>[]
}

/** Returns a locktime and what it demands, in words. */
export function locktimeText({ t, f }: Pick<PageContext, 't' | 'f'>, tx: Shown): string {
  const locktime = Number(tx.locktime)
  if (locktime === 0) return `0: ${t.tx.noLock}`
  const isAllFinal =
    tx.inputs.length === tx.input_count && tx.inputs.every(({ sequence }) => Number(sequence) === FINAL)
  if (isAllFinal) return `${f.number(locktime)}: ${t.tx.lockWithoutEffect}`
  return locktime < FIRST_TIME
    ? `${f.number(locktime)}: ${t.tx.lockedUntilBlock(f.number(locktime))}`
    : `${String(locktime)}: ${t.tx.lockedUntil(new Date(locktime * 1000).toISOString().slice(0, 19).replace('T', ' '))}`
}

/** Returns whether a transaction signals that it may be replaced, in words: of the inputs on this page if there are more. */
export function replacementText(
  { t }: Pick<PageContext, 't'>,
  { inputs, input_count: count }: Shown,
): string {
  if (inputs.some(({ sequence }) => Number(sequence) <= MAX_SIGNALLING)) return t.tx.signals
  return inputs.length === count ? t.tx.signalsNot : t.tx.signalsHere
}
