import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt'
import { KindGuard } from '@sinclair/typebox'
import { expect, it } from 'vitest'
import {
  file_headwater_reads_v1_reads as file,
  UtxoSchema,
} from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { notNull, SHAPES } from '../../../../../services/explorer/core/reads/shape-names.js'
import { toMessage } from '../../../../../services/explorer/faces/grpc/messages.js'

const fieldsThatMayBeNull = Object.entries(SHAPES).flatMap(([shape, { properties }]) =>
  Object.entries(properties)
    .filter(([, property]) => notNull(property) !== property && !KindGuard.IsNull(property))
    // A text that no answer had empty: it is null where it is empty.
    .filter(([, property]) => property['presence'] !== 'implicit')
    .map(([key]) => [shape, key] as const),
)

it('what may be null in REST can be absent in gRPC, and is not confused with zero', () => {
  expect(fieldsThatMayBeNull.length).toBeGreaterThan(20)
  const confused = fieldsThatMayBeNull.filter(([shape, key]) => {
    const field = file.messages
      .find(({ name }) => name === shape)
      ?.fields.find(({ jsonName }) => jsonName === key)
    return field?.presence !== Presence.EXPLICIT
  })
  expect(confused).toEqual([])
  expect(toMessage(UtxoSchema, { block_height: null }).blockHeight).toBeUndefined()
  expect(toMessage(UtxoSchema, { block_height: 0 }).blockHeight).toBe(0n)
})
