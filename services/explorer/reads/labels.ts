import { Type } from '@sinclair/typebox'
import { address, limit } from './arguments.js'
import { declareRead, NotFound } from './read.js'
import { askedScript } from './script.js'
import { AddressLabel, listed } from './shapes.js'

export const label = declareRead({
  name: 'label',
  path: '/label/:address',
  fresh: 'head',
  args: { address },
  answer: AddressLabel,
  resolve(context, { address }) {
    const found = context.definitions.labels.ofScript(askedScript(context, address).scriptHash)
    if (found === undefined) throw new NotFound('Label not found')
    return { ...found, address }
  },
})

export const labels = declareRead({
  name: 'labels',
  path: '/labels',
  fresh: 'head',
  args: {
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    limit: limit(100, 500),
  },
  answer: listed(AddressLabel),
  resolve: ({ definitions }, { category, limit }) => ({
    items: definitions.labels
      .all(category)
      .slice(0, limit)
      .map((each) => ({ ...each })),
    limit,
  }),
})
