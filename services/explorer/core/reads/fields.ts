import { Type, type TLiteral, type TSchema } from '@sinclair/typebox'
import { PROTECTIONS } from '../../../../pipelines/chain/columns/protection.js'

// The schemas of the fields of shapes.

export const Amount = Type.String({ description: 'base units, decimal', format: 'uint64' })
export const SignedAmount = Type.String({ description: 'base units, signed decimal', format: 'int64' })
export const Hash = Type.String({ description: '64 hexadecimal characters' })
export const Hex = Type.String({ description: 'hexadecimal' })
export const Time = Type.String({ description: 'ISO 8601 UTC with milliseconds', format: 'date-time' })
export const Decimal = Type.String({ description: 'decimal, never with an exponent' })
export const Hashrate = Type.String({ description: 'hashes per second, decimal, never with an exponent' })
export const FeeRate = Type.String({ description: 'base units per virtual byte, decimal' })
export const Height = Type.Integer({ description: 'height of the block' })
export const MinedAt = Type.Integer({ description: 'height of the block; null while unconfirmed' })
export const Address = Type.String({ description: 'an address' })
export const int = (description: string) => Type.Integer({ description })
/** Returns the schema of a number of 32 bits. Those without a format have at most 31. */
export const word = (description: string) => Type.Integer({ description, format: 'uint32' })
export const long = (description: string) => Type.Integer({ description, format: 'int64' })
export const text = (description: string) => Type.String({ description })
export const list = <T extends TSchema>(item: T, description: string) => Type.Array(item, { description })
export const flag = (description: string) => Type.Boolean({ description })
/** Marks the schema of a field that says something only of a chain with Dilithium signatures. A symbol: it is no part of JSON. */
export const OF_DILITHIUM = Symbol('of Dilithium')
/** Returns the schema of a flag that is false on chains without Dilithium signatures. */
export const dilithiumFlag = (description: string) => Type.Boolean({ description, [OF_DILITHIUM]: true })
type Literals<N extends readonly string[]> = { -readonly [K in keyof N]: TLiteral<N[K]> }
/** Returns the schema of one of several texts. */
export const oneOf = <const N extends readonly string[]>(names: N, description: string) =>
  Type.Union(names.map((name) => Type.Literal(name)) as unknown as [...Literals<N>], { description })
export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** The description of the fee rate that a transaction pays itself. */
export const OWN_RATE = 'its fee by its size, base units per virtual byte, decimal'

export const Total = int('total number of items')
export const Limit = int('maximum number of items')

export const Percent = Type.String({ description: 'percent, decimal' })
export const UtcDate = Type.String({ description: 'YYYY-MM-DD, UTC', format: 'date' })
export const Protection = oneOf(
  PROTECTIONS,
  'against a computer that derives private keys from public ones: exposed if the chain shows a key of ECDSA or Schnorr signatures, hidden if the script has the hash of a key or script that no spend has revealed, protected if it requires a post-quantum signature or each of its spends contained one, else unknown',
)
