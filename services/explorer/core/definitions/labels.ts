import { decodeAddress } from '../../../../pipelines/chain/address.js'
import { NETWORKS } from '../../../../pipelines/chain/networks.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { DefinitionFileError } from '../../../process/definition-file.js'

/** A label that the operator has given to an address. */
export interface Label {
  /** Spelled as in the file. */
  readonly address: string
  readonly label: string
  readonly category: string
  readonly url: string | null
  readonly verified: boolean
}

/** Labels by the script of their address, so that every spelling of the address finds them. */
export class Labels {
  readonly #byScript: ReadonlyMap<string, Label>
  readonly #sorted: readonly Label[]

  constructor(byScript: ReadonlyMap<string, Label> = new Map()) {
    this.#byScript = byScript
    this.#sorted = [...byScript.values()].sort(
      (one, other) => order(one.label, other.label) || order(one.address, other.address),
    )
  }

  /** Returns the label of a script. @param hash the hash of the script. */
  ofScript(hash: string): Label | undefined {
    return this.#byScript.get(hash)
  }

  /** Returns all labels, or the labels of a category, sorted by label, then by address. */
  all(category?: string): readonly Label[] {
    if (category === undefined) return this.#sorted
    return this.#sorted.filter((each) => each.category === category)
  }
}

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/**
 * Parses JSON lines of `{address, label, category, url?, verified?}`; empty lines are ignored.
 * @throws DefinitionFileError.
 */
export function parseLabels(text: string): Labels {
  const byScript = new Map<string, Label>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    for (const [hash, label] of parseLine(line, index + 1)) {
      if (byScript.has(hash))
        throw new DefinitionFileError(index + 1, `${label.address} has two labels; expected one per address`)
      byScript.set(hash, label)
    }
  }
  return new Labels(byScript)
}

function parseLine(line: string, number: number): (readonly [string, Label])[] {
  const fields = parseObject(line, number)
  const text = (name: string): string => {
    const value = fields[name]
    if (typeof value !== 'string' || value.trim() === '')
      throw new DefinitionFileError(number, `${name} must be a string`)
    return value
  }
  const { url: link = null, verified = false } = fields
  const url = link === '' ? null : link
  if (url !== null && !isWebUrl(url))
    throw new DefinitionFileError(number, 'url must be an http or https URL, or null')
  if (typeof verified !== 'boolean') throw new DefinitionFileError(number, 'verified must be true or false')
  const address = text('address')
  const label: Label = { address, label: text('label'), category: text('category'), url, verified }
  const scripts = scriptsOf(address)
  if (scripts.length === 0)
    throw new DefinitionFileError(number, `${address} is not an address of any known chain`)
  return scripts.map((hash) => [hash, label])
}

function parseObject(line: string, number: number): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new DefinitionFileError(number, 'is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DefinitionFileError(number, 'is not a JSON object')
  return value as Record<string, unknown>
}

/** Returns the hashes of the scripts of an address on all known networks, each once; empty if no network accepts the address. */
export function scriptsOf(address: string): string[] {
  const scripts = [...NETWORKS.values()].flatMap((network) => {
    const decoded = decodeAddress(address, network)
    return decoded === undefined ? [] : [scriptHash(decoded.script)]
  })
  return [...new Set(scripts)]
}

/** Returns whether a value is an http or https URL. */
export function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}
