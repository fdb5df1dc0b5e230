import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { coded } from '../../../../pipelines/errors.js'
import type { ChainState } from '../state/state.js'
import { badArgument } from './arguments.js'
import { NotBuiltYet } from './read.js'

/** Returns the argument with which a list continues. */
export const cursorOf = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9A-Za-z_-]{8,200}$',
      description,
      allowed: 'the next_cursor of a page of this list',
    }),
  )

/** The argument with which a list of pages continues. */
export const cursor = cursorOf(
  'continues the list after the page whose `next_cursor` this is; `page` is then ignored',
)

/** Thrown if a reorganisation has removed items that the pages before a cursor contain: 410. */
export class CursorOutdated extends coded('HW_CURSOR_OUTDATED') {
  constructor() {
    super('A reorganisation has removed items of the pages before this cursor: start over')
  }
}

/**
 * Checks that the newest block of which earlier pages contain an item is still on the chain.
 * @throws CursorOutdated if a reorganisation has removed it; NotBuiltYet if this index has not reached it; BadArgument if it is above the block
 * as of which the list is read.
 */
export function assertOnChain({ blocks, height, present }: ChainState, at: number, tag: number): void {
  // Of a page as of a later state: the list does not have its items.
  if (at > height && present !== undefined) throw badArgument('cursor', cursor)
  if (at > height) throw new NotBuiltYet('the index has not reached the block of the cursor')
  if (!blocks.has(at, tag)) throw new CursorOutdated()
}

const CHECK_BYTES = 4

/**
 * Encodes a place in a list as an opaque text.
 * @param list identifies the list, with everything that selects and orders its items.
 */
export function encodeCursor(list: string, place: readonly (string | number)[]): string {
  const text = Buffer.from(place.join(' '))
  return Buffer.concat([checkOf(list, text), text]).toString('base64url')
}

/** Decodes a place in a list. @throws BadArgument for a text that `encodeCursor` has not made for this list. */
export function decodeCursor(list: string, encoded: string): string[] {
  const bytes = Buffer.from(encoded, 'base64url')
  const text = bytes.subarray(CHECK_BYTES)
  if (bytes.toString('base64url') !== encoded || !checkOf(list, text).equals(bytes.subarray(0, CHECK_BYTES)))
    throw badArgument('cursor', cursor)
  return text.toString().split(' ')
}

/** Returns a part of a place that is an integer. @throws BadArgument if it is not. */
export function integerIn(part: string | undefined): bigint {
  if (!/^\d{1,20}$/.test(part ?? '')) throw badArgument('cursor', cursor)
  return BigInt(part ?? 0)
}

/** Returns a part of a place that is an exact number. @throws BadArgument if it is not. */
export function numberIn(part: string | undefined): number {
  const number = Number(integerIn(part))
  if (!Number.isSafeInteger(number)) throw badArgument('cursor', cursor)
  return number
}

/** A check against mistakes, not against forgery: a forged cursor can only name another place of the list. */
const checkOf = (list: string, text: Buffer): Buffer =>
  createHash('sha256').update(`${list}\n`).update(text).digest().subarray(0, CHECK_BYTES)
