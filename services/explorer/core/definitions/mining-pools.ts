import { findNodeAtLocation, getNodeValue, type Node } from 'jsonc-parser'
import { LRUCache } from 'lru-cache'
import { decodePayouts } from '../../../../pipelines/chain/columns/payouts.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { DefinitionFileError, lineAt, parseArray } from '../../../process/definition-file.js'
import { isWebUrl, scriptsOf } from './labels.js'

/** A mining pool, recognised by the addresses that its coinbases pay and by the tags in their scripts. */
export interface MiningPool {
  /** The number in the file; 0 for a pool without one. */
  readonly id: number
  readonly name: string
  readonly slug: string
  readonly link: string | null
  readonly addresses: readonly string[]
  readonly tags: readonly string[]
}

/** Stands for the miners of all blocks that belong to no pool of the file. */
export const UNKNOWN: MiningPool = {
  id: 0,
  name: 'Unknown',
  slug: 'unknown',
  link: null,
  addresses: [],
  tags: [],
}

interface MinedBlock {
  readonly blockHash: string
  /** `blocks.payouts` as hex; empty if the coinbase pays no address. */
  readonly payouts: string
  /** Hex. */
  readonly coinbaseScript: string
}

/** The miner of a block. */
interface Miner {
  /** Undefined if the miner is no pool of the file. */
  readonly pool: MiningPool | undefined
  /** The script that identified the pool, otherwise the script that the coinbase pays most; undefined if it pays no address. */
  readonly payout: Buffer | undefined
}

const MAX_REMEMBERED = 50_000

/** The mining pools of one version of the file. */
export class MiningPools {
  readonly #byScript = new Map<string, MiningPool>()
  readonly #tags: (readonly [string, MiningPool])[] = []
  /** The miners of blocks, by block hash. They never change for one version of the file. */
  readonly #known = new LRUCache<string, Miner, MinedBlock>({
    max: MAX_REMEMBERED,
    memoMethod: (_hash, _stale, { context }) => this.#find(context),
  })

  /** All pools of the file, in its order. */
  readonly all: readonly MiningPool[]

  constructor(pools: readonly MiningPool[] = []) {
    this.all = pools
    for (const pool of pools) {
      for (const address of pool.addresses)
        for (const script of scriptsOf(address))
          if (!this.#byScript.has(script)) this.#byScript.set(script, pool)
      for (const tag of pool.tags) this.#tags.push([tag.toLowerCase(), pool])
    }
  }

  /**
   * Returns the miner of a block: the pool by the largest payout to an address of a pool, then by the first tag of the file that
   * the coinbase script contains, ignoring case.
   */
  minerOf(block: MinedBlock): Miner {
    return this.#known.memo(block.blockHash, { context: block })
  }

  #find({ payouts, coinbaseScript }: MinedBlock): Miner {
    const scripts = decodePayouts(Buffer.from(payouts, 'hex'))
    for (const payout of scripts) {
      const pool = this.#byScript.get(scriptHash(payout))
      if (pool !== undefined) return { pool, payout }
    }
    return { pool: this.#tagged(coinbaseScript), payout: scripts[0] }
  }

  #tagged(coinbaseScript: string): MiningPool | undefined {
    if (this.#tags.length === 0) return undefined
    const bytes = Buffer.from(coinbaseScript, 'hex')
    // Tags are mostly ASCII; other characters may be encoded as Latin-1 or UTF-8 in the script.
    const text = `${bytes.toString('latin1')}\n${bytes.toString('utf8')}`.toLowerCase()
    return this.#tags.find(([tag]) => text.includes(tag))?.[1]
  }
}

interface WrittenPool extends Omit<MiningPool, 'slug'> {
  /** The slug in the file; undefined if it is derived from the name. */
  readonly slug: string | undefined
}

/**
 * Parses pools in the format of mempool's pools-v2.json: an array of `{id, name, addresses, tags, link}`, and `slug` if it differs
 * from the letters and digits of the name. Addresses of other chains are allowed and match nothing. A link that is not a web URL
 * is ignored.
 * @throws DefinitionFileError.
 */
export function parseMiningPools(text: string): MiningPools {
  const labels = new Set<string>()
  const pools = parseArray(text, 'pools').map((node) => {
    const pool = poolOf(node, text)
    const label = pool.slug === undefined ? `pool ${pool.name}` : `slug ${pool.slug}`
    if (labels.has(label))
      throw new DefinitionFileError(lineAt(text, node.offset), `${label} is defined twice`)
    labels.add(label)
    return pool
  })
  const slugs = new Set([UNKNOWN.slug, ...pools.map(({ slug }) => slug)])
  return new MiningPools(
    pools.map((pool) => {
      const slug = pool.slug ?? freeSlug(pool.name, slugs)
      slugs.add(slug)
      return { ...pool, slug }
    }),
  )
}

function poolOf(node: Node, text: string): WrittenPool {
  const fail = (at: Node, what: string): never => {
    throw new DefinitionFileError(lineAt(text, at.offset), what)
  }
  if (node.type !== 'object') fail(node, 'a pool must be an object')
  const field = (name: string): Node | undefined => findNodeAtLocation(node, [name])
  const texts = (name: string): string[] => {
    const list = field(name)
    if (list === undefined) return []
    if (list.type !== 'array') return fail(list, `${name} must be an array of strings`)
    return (list.children ?? []).map((each) => {
      const value: unknown = getNodeValue(each)
      return typeof value === 'string' && value.trim() !== ''
        ? value
        : fail(each, `${name} must contain strings only`)
    })
  }
  const optional = (name: string): string | undefined => {
    const property = field(name)
    if (property === undefined || property.type === 'null') return undefined
    const value: unknown = getNodeValue(property)
    return typeof value === 'string' ? value : fail(property, `${name} must be a string`)
  }
  const name = optional('name') ?? ''
  if (name.trim() === '') fail(field('name') ?? node, 'a pool must have a name')
  const slug = optional('slug')
  if (slug?.trim() === '') fail(field('slug') ?? node, 'slug must not be empty')
  for (const [key, value] of Object.entries({ name, slug }))
    if (value?.trim().toLowerCase() === UNKNOWN.slug)
      fail(
        field(key) ?? node,
        `${key} must not be ${UNKNOWN.name}: this name is reserved for all other miners`,
      )
  const link = optional('link')
  const id = field('id')
  return {
    id: id?.type === 'number' && Number.isSafeInteger(id.value) ? Number(id.value) : 0,
    name,
    slug,
    link: isWebUrl(link) ? link : null,
    addresses: texts('addresses'),
    tags: texts('tags'),
  }
}

/** Returns a slug as mempool derives it. A name whose slug is taken ("Bitcoin India", "BitcoinIndia") gets a number appended. */
function freeSlug(name: string, slugs: ReadonlySet<string | undefined>): string {
  const letters = name.replace(/[^a-z0-9]/gi, '').toLowerCase()
  const base = letters === '' ? name : letters
  let slug = base
  for (let number = 2; slugs.has(slug); number++) slug = `${base}-${String(number)}`
  return slug
}
