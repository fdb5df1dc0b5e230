import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  parseTree,
  type ParseError,
  printParseErrorCode,
} from 'jsonc-parser'
import { scriptHash } from '../../pipelines/chain/script.js'
import { FileFault, lineAt } from './definition-file.js'
import { isWebUrl, scriptsOf } from './labels.js'

/** Who mines blocks, by the addresses that its coinbases pay and the tags that they carry. */
export interface MiningPool {
  readonly name: string
  readonly slug: string
  readonly link: string | null
  readonly addresses: readonly string[]
  readonly tags: readonly string[]
}

interface MinedBlock {
  readonly hash: string
  /** Hex; empty for a coinbase that pays no address. */
  readonly minerScript: string
  /** Hex. */
  readonly coinbaseScript: string
}

const MOST_REMEMBERED = 50_000

/** The pools of one reading of the file. */
export class MiningPools {
  readonly #byScript = new Map<string, MiningPool>()
  readonly #tags: (readonly [string, MiningPool])[] = []
  /** A block's pool, which for these definitions never changes. */
  readonly #known = new Map<string, MiningPool | undefined>()

  constructor(pools: readonly MiningPool[] = []) {
    for (const pool of pools) {
      for (const address of pool.addresses)
        for (const script of scriptsOf(address))
          if (!this.#byScript.has(script)) this.#byScript.set(script, pool)
      for (const tag of pool.tags) this.#tags.push([tag.toLowerCase(), pool])
    }
  }

  /** By payout address, then by the first tag of the file that the coinbase script holds, whatever its case. */
  ofBlock(block: MinedBlock): MiningPool | undefined {
    if (this.#known.has(block.hash)) return this.#known.get(block.hash)
    const pool =
      this.#byScript.get(scriptHash(Buffer.from(block.minerScript, 'hex'))) ??
      this.#byTag(block.coinbaseScript)
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear()
    this.#known.set(block.hash, pool)
    return pool
  }

  #byTag(coinbaseScript: string): MiningPool | undefined {
    if (this.#tags.length === 0) return undefined
    const bytes = Buffer.from(coinbaseScript, 'hex')
    // Tags are mostly ASCII; others are UTF-8 in the script.
    const text = `${bytes.toString('latin1')}\n${bytes.toString('utf8')}`.toLowerCase()
    return this.#tags.find(([tag]) => text.includes(tag))?.[1]
  }
}

/**
 * Reads pools in the form of mempool's pools-v2.json: an array of `{id, name, addresses, tags, link}`, and `slug` where it is
 * not the name's letters and digits. Addresses of other chains are allowed and match nothing.
 * @throws FileFault.
 */
export function parseMiningPools(text: string): MiningPools {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: false, disallowComments: true })
  const [error] = errors
  if (error !== undefined)
    throw new FileFault(lineAt(text, error.offset), `is not JSON: ${printParseErrorCode(error.error)}`)
  if (root?.type !== 'array') throw new FileFault(1, 'must be an array of pools')
  const slugs = new Set<string>()
  const pools = (root.children ?? []).map((node) => {
    const pool = poolOf(node, text)
    if (slugs.has(pool.slug))
      throw new FileFault(lineAt(text, node.offset), `pool ${pool.slug} is there twice`)
    slugs.add(pool.slug)
    return pool
  })
  return new MiningPools(pools)
}

function poolOf(node: Node, text: string): MiningPool {
  const fault = (at: Node, what: string): never => {
    throw new FileFault(lineAt(text, at.offset), what)
  }
  if (node.type !== 'object') fault(node, 'a pool must be an object')
  const field = (name: string): Node | undefined => findNodeAtLocation(node, [name])
  const texts = (name: string): string[] => {
    const list = field(name)
    if (list === undefined) return []
    if (list.type !== 'array') return fault(list, `${name} must be an array of texts`)
    return (list.children ?? []).map((each) => {
      const value: unknown = getNodeValue(each)
      return typeof value === 'string' && value.trim() !== '' ? value : fault(each, `${name} must hold texts`)
    })
  }
  const optional = (name: string): string | undefined => {
    const found = field(name)
    if (found === undefined || found.type === 'null') return undefined
    const value: unknown = getNodeValue(found)
    return typeof value === 'string' ? value : fault(found, `${name} must be a text`)
  }
  const name = optional('name') ?? ''
  if (name.trim() === '') fault(field('name') ?? node, 'a pool must have a name')
  const link = optional('link') ?? ''
  if (link !== '' && !isWebUrl(link)) fault(field('link') ?? node, 'link must be an http or https URL')
  return {
    name,
    slug: optional('slug') ?? slugOf(name),
    link: link === '' ? null : link,
    addresses: texts('addresses'),
    tags: texts('tags'),
  }
}

/** As mempool makes them. */
function slugOf(name: string): string {
  const slug = name.replace(/[^a-z0-9]/gi, '').toLowerCase()
  return slug === '' ? name : slug
}
