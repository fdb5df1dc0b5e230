import { GraphQLError, GraphQLScalarType, Kind } from 'graphql'

const INTEGER = /^-?(0|[1-9]\d{0,19})$/

/** An integer that may exceed 32 bits. Clients receive and send it as a decimal string; as an argument an integer is accepted too. */
export const BigInteger = new GraphQLScalarType<string, string>({
  name: 'BigInt',
  description:
    'An integer that may exceed 32 bits, as a decimal string. Amounts are in base units, the smallest unit of the coin. \
An argument may also be an integer.',
  serialize: (value) => integerOf(value),
  parseValue: (value) => integerOf(value),
  parseLiteral(node) {
    if (node.kind !== Kind.INT && node.kind !== Kind.STRING)
      throw new GraphQLError('BigInt must be an integer or a decimal string', { nodes: node })
    return integerOf(node.value)
  },
})

const MAX_UNSIGNED = 2 ** 32 - 1

/** An unsigned integer of 32 bits, which the type Int of GraphQL cannot contain. It is a JSON number, as in REST. */
export const UnsignedInt = new GraphQLScalarType<number, number>({
  name: 'UnsignedInt',
  description: 'An unsigned integer of 32 bits, as a number.',
  serialize(value) {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_UNSIGNED)
      throw new GraphQLError('UnsignedInt must be an integer from 0 to 4294967295')
    return value
  },
})

function integerOf(value: unknown): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text !== 'string' || !INTEGER.test(text))
    throw new GraphQLError('BigInt must be an integer or a decimal string')
  return text
}
