import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parseAllDocuments } from 'yaml'
import type { Document } from './tools.js'

type Schemas = ReadonlyMap<string, (value: unknown) => string[]>

/**
 * The schemas of custom resources, by apiVersion and kind. No package contains them: CRD_FOLDER names a folder of
 * them (`kubectl get crd NAME -o yaml`, or the operators' releases); without it the tests that need them are skipped.
 */
export function customSchemas(): Schemas | undefined {
  const folder = process.env['CRD_FOLDER']
  if (folder === undefined) {
    console.warn("SKIPPED: CRD_FOLDER names no folder with the operators' CustomResourceDefinitions")
    return undefined
  }
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const definitions: Document[] = files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((each) => each.toJS()),
  )
  return new Map(
    definitions
      .filter((definition) => definition?.kind === 'CustomResourceDefinition')
      .flatMap(({ spec }) =>
        spec.versions.map((version: Document) => [
          `${spec.group}/${version.name} ${spec.names.kind}`,
          check(version.schema.openAPIV3Schema),
        ]),
      ),
  )
}

/** Returns the errors that a resource's schema reports. */
export function faultsIn(schemas: Schemas, resource: Document): string[] {
  const found = schemas.get(`${resource.apiVersion} ${resource.kind}`)
  return found === undefined ? [`no schema for ${resource.apiVersion} ${resource.kind}`] : found(resource)
}

function check(schema: Document): (value: unknown) => string[] {
  const properties = { ...schema.properties, apiVersion: {}, kind: {}, metadata: {} }
  const validate = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile(
    strict({ ...schema, properties }),
  )
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map((each) => `${each.instancePath} ${String(each.message)}`)
}

/** Strict field validation, as an API server does it: unknown fields are errors. */
function strict(schema: Document): Document {
  const { properties, items, additionalProperties, type, ...rest } = schema
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true
  const each = Object.entries(properties ?? {}).map(([name, value]) => [name, strict(value)])
  const others =
    typeof additionalProperties === 'object' ? strict(additionalProperties) : open || properties === undefined
  return {
    ...rest,
    ...(type === undefined || schema['x-kubernetes-int-or-string'] === true ? {} : { type }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(each) }),
    ...(items === undefined ? {} : { items: strict(items) }),
    ...(type === 'object' ? { additionalProperties: others } : {}),
  }
}
