/** What a .proto file is made of, before its fields have numbers. */

export interface ProtoField {
  /** lower_snake_case. */
  readonly name: string
  readonly label: '' | 'optional' | 'repeated'
  readonly type: string
  /** The name in REST's JSON. */
  readonly jsonName: string
  readonly doc: string
  /** Name of the oneof that it is one of. */
  readonly oneof?: string
}

export interface ProtoEnum {
  readonly name: string
  readonly doc: string
  /** As REST has them, without the first, UNSPECIFIED. */
  readonly values: readonly string[]
}

export interface ProtoMessage {
  readonly name: string
  readonly doc: string
  readonly fields: readonly ProtoField[]
  readonly messages: readonly ProtoMessage[]
  readonly enums: readonly ProtoEnum[]
}

export interface ProtoMethod {
  readonly name: string
  readonly doc: string
  readonly request: string
  readonly response: string
  readonly streams: boolean
}

export interface ProtoFile {
  readonly doc: string
  readonly package: string
  readonly service: { readonly name: string; readonly doc: string; readonly methods: readonly ProtoMethod[] }
  readonly messages: readonly ProtoMessage[]
  readonly enums: readonly ProtoEnum[]
}

/** isDilithium → is_dilithium. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** isDilithium, is_dilithium → IsDilithium. */
export const pascal = (name: string): string =>
  name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** IndexerStatus, live → INDEXER_STATUS_LIVE. */
export const enumValue = (name: string, value: string): string =>
  `${snake(name).slice(1)}_${value.replaceAll('-', '_')}`.toUpperCase()
