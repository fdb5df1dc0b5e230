import { FormatRegistry } from '@sinclair/typebox'
import { dayOfDate } from '../../pipelines/chain/time.js'

/** The formats of the OpenAPI registry that shapes use, as far as TypeBox checks values. */
FormatRegistry.Set('uint64', (text) => /^\d{1,20}$/.test(text))
FormatRegistry.Set('int64', (text) => /^-?\d{1,19}$/.test(text))
FormatRegistry.Set('date', (text) => dayOfDate(text) !== undefined)
FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))
