import { Type } from '@sinclair/typebox'
import { address, limit } from '../arguments.js'
import { declareRead, NEVER, NotFound } from '../read.js'
import { requestedScript } from '../script.js'
import { listed } from '../lists.js'
import { AddressLabel } from '../shapes.js'

export const label = declareRead({
  name: 'label',
  about: 'The label of an address.',
  path: '/label/:address',
  fresh: 'head',
  args: { address },
  answer: AddressLabel,
  notFound: ['Label not found'],
  async resolve(context, { address: requested }) {
    const { scriptHash, address } = await requestedScript(context, requested)
    const match = context.definitions.labels.ofScript(scriptHash)
    if (match === undefined) throw new NotFound('Label not found', NEVER)
    return { ...match, address: address ?? match.address }
  },
})

export const labels = declareRead({
  name: 'labels',
  about: 'The labels of addresses.',
  path: '/labels',
  fresh: 'head',
  args: {
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'only this category' })),
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
