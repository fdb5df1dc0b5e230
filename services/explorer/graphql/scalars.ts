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

function integerOf(value: unknown): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text !== 'string' || !INTEGER.test(text))
    throw new GraphQLError('BigInt must be an integer or a decimal string')
  return text
}
