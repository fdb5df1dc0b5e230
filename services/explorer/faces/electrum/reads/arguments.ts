import { Type } from '@sinclair/typebox'

/** Returns the schema of an argument that the method has checked. */
export const text = (description: string) => Type.String({ maxLength: 8_192, description })
