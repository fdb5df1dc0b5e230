import fc from 'fast-check'

const repeat = (text: string, times: number): string => text.repeat(times)
const size = fc.nat(4_000)
const name = fc.constantFrom(
  'chain',
  'blocks',
  'block',
  'transaction',
  '__schema',
  '__type',
  'items',
  'x',
  '__proto__',
  'constructor',
)

/** Documents that are deep, wide, circular, long, or not documents at all. */
const document = fc.oneof(
  fc.tuple(size, name).map(([depth, field]) => `${repeat(`{ ${field} `, depth)}${repeat('}', depth)}`),
  size.map((depth) => `{ blocks { items ${repeat('{ previous ', depth)}{ hash }${repeat(' }', depth + 1)} }`),
  fc
    .tuple(size, name)
    .map(
      ([count, field]) =>
        `{ ${Array.from({ length: count }, (_, at) => `a${String(at)}: ${field} { height }`).join(' ')} }`,
    ),
  fc.tuple(size, name).map(([count, field]) => `{ chain { ${repeat(`${field} `, count)} } }`),
  fc.integer({ min: 1, max: 200 }).map((count) => {
    const fragments = Array.from(
      { length: count },
      (_, at) =>
        `fragment F${String(at)} on Query { ...F${String((at + 1) % count)} ...F${String((at + 1) % count)} }`,
    )
    return `${fragments.join(' ')} { ...F0 }`
  }),
  fc.integer({ min: 1, max: 60 }).map((count) => {
    const fragments = Array.from(
      { length: count },
      (_, at) => `fragment F${String(at)} on Query { ...F${String(at + 1)} ...F${String(at + 1)} }`,
    )
    return `${fragments.join(' ')} fragment F${String(count)} on Query { blocks(limit: 100) { total } } { ...F0 }`
  }),
  size.map((digits) => `{ blocks(limit: ${repeat('9', digits + 1)}) { total } }`),
  size.map((length) => `{ address(address: "${repeat('q', length)}") { balance } }`),
  size.map((depth) => `{ blocks(limit: ${repeat('[', depth)}1${repeat(']', depth)}) { total } }`),
  size.map(
    (depth) => `query ($v: ${repeat('[', depth)}Int${repeat(']', depth)}) { blocks(limit: $v) { total } }`,
  ),
  fc
    .integer({ min: 1, max: 7 })
    .map(
      (depth) =>
        `{ __schema { types ${repeat('{ fields { type ', depth)}{ name }${repeat(' } }', depth)} } }`,
    ),
  fc.tuple(size, name).map(([count, field]) => `{ chain ${repeat(`@${field} `, count)} { height } }`),
  fc.string({ maxLength: 300 }),
  fc
    .tuple(name, name, fc.string({ maxLength: 20 }))
    .map(([one, two, text]) => `{ ${one}(${two}: ${JSON.stringify(text)}) { ${two} } }`),
)

const variables = fc.oneof(
  fc.constant(undefined),
  fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue()),
  size.map((depth) => `${repeat('[', depth)}${repeat(']', depth)}`),
)

/** Bodies of GraphQL requests: documents with variables, and in arrays. */
export const hostileDocuments: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(document, variables)
      .map(([query, given]) => JSON.stringify({ query, variables: given })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(document, size)
      .map(([query, count]) => JSON.stringify(Array.from({ length: count % 100 }, () => ({ query })))),
  },
  {
    weight: 1,
    arbitrary: size.map(
      (depth) => `{"query":"{chain{height}}","variables":{"a":${repeat('[', depth)}${repeat(']', depth)}}}`,
    ),
  },
  { weight: 1, arbitrary: fc.json() },
)
