import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { files, text } from './tree.js'

/**
 * The parts of folders in the order in which they import one another: a part imports those of earlier lines only. Parts that no
 * line names come last. Parts of one line do not import each other.
 */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  '.': ['proto', 'pipelines', 'services', 'deploy', 'test', 'bench'],
  services: [
    'setting-kinds.ts',
    'config.ts compression.ts client design',
    'access http process',
    'metrics rpc',
  ],
  'services/explorer': ['core', 'http', 'faces', 'host', 'main.ts'],
  'services/explorer/core': [
    'definitions forecast node tables wallets',
    'mempool',
    'state',
    'reads',
    'answering commands feed',
    'following health',
    'core.ts',
  ],
  'services/explorer/faces': ['face.ts'],
}

/** The folders of pipelines/ that each of them may import. */
const PIPELINES: Readonly<Record<string, readonly string[]>> = {
  chain: [],
  log: [],
  events: [],
  node: ['chain'],
  poll: ['chain', 'events', 'log', 'mempool', 'node'],
  tables: ['chain'],
  materialize: ['chain', 'events', 'log', 'tables'],
  mempool: ['chain', 'log'],
  txstore: ['chain', 'events', 'log'],
  journal: ['chain', 'events', 'log', 'mempool', 'tables'],
  content: [],
  audit: ['chain', 'log', 'mempool', 'node', 'tables'],
  snapshot: ['log', 'materialize', 'tables'],
  retrieval: ['content'],
}

/** Folders that import nothing but their own files and some packages. */
const CLOSED: Readonly<Record<string, readonly string[]>> = {
  'pipelines/chain/': ['node:crypto', '@scure/base'],
  // It is loaded by browsers.
  'services/client/': [],
}

/** Each is imported by one file; a new use is a new method there. */
const DRIVERS = [
  'ipaddr.js',
  '@clickhouse/client',
  '@photostructure/sqlite',
  'ffi-rs',
  'pino',
  'uWebSockets.js',
  'prom-client',
  'kafkajs',
  '@grpc/reflection',
  'grpc-health-check',
  'hnswlib-node',
  'onnxruntime-node',
  '@huggingface/tokenizers',
]

const IMPORT = new RegExp(
  [
    /^(?:import|export)\s(?:[^'"]*?\sfrom\s)?'([^']+)'/,
    /\bimport\(\s*'([^']+)'/,
    // The script of a thread: its path from the project's root, without extension.
    /^\s*(?:.*\()?'((?:pipelines|services)\/[\w/-]+-thread)'/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
)

/** Returns the imports of a file: packages by name, files by their path from the project's root. */
function importsOf(path: string, content: string): string[] {
  return [...content.matchAll(IMPORT)].map(([, direct, dynamic, thread]) => {
    if (thread !== undefined) return `${thread}.ts`
    const name = direct ?? dynamic ?? ''
    if (!name.startsWith('.')) return name
    const file = join(dirname(path), name)
    return text.has(file) ? file : file.replace(/\.js$/, '.ts')
  })
}

interface Edge {
  readonly from: string
  readonly to: string
}

/** All imports of all files. */
const edges: readonly Edge[] = files
  .filter((path) => /\.(ts|mjs)$/.test(path))
  .flatMap((from) => importsOf(from, text.get(from) ?? '').map((to) => ({ from, to })))

/** Imports of the project's own files. */
const inside = edges.filter(({ to }) => text.has(to) || to.includes('/gen/'))

const shown = ({ from, to }: Edge): string => `${from} → ${to}`

/** Returns the folder that contains both ends of an import, and the two parts of it between which the import leads. */
function partsOf({ from, to }: Edge): { folder: string; parts: readonly [string, string]; isFile: boolean } {
  const [path, target] = [from.split('/'), to.split('/')]
  const depth = path.findIndex((name, at) => name !== target[at])
  return {
    folder: path.slice(0, depth).join('/') || '.',
    parts: [path[depth] ?? '', target[depth] ?? ''],
    isFile: depth === path.length - 1 || depth === target.length - 1,
  }
}

function isUpward(edge: Edge): boolean {
  const { folder, parts } = partsOf(edge)
  const order = ORDER[folder]?.map((line) => line.split(' '))
  if (order === undefined) return false
  const [from = 0, to = 0] = parts.map((part) => {
    const line = order.findIndex((each) => each.includes(part))
    return line < 0 ? order.length : line
  })
  return from <= to
}

function isForeign(edge: Edge): boolean {
  const { folder, parts } = partsOf(edge)
  if (folder !== 'pipelines' || parts[1].endsWith('.ts')) return false
  return !(PIPELINES[parts[0]] ?? []).includes(parts[1])
}

describe('imports', () => {
  it('are found in all their forms', () => {
    const content = `import a from 'one'
import type {
  B,
} from './two.js'
export * from '../three.mjs'
import './four.js'
const five = await import('./five.js')
  readonly #thread = new BoundedThread<Job, Draft>('services/docs/pages/six-thread', [
// It is not from './seven.js'.
`
    expect(importsOf('deploy/x/file.ts', content)).toEqual([
      'one',
      'deploy/x/two.ts',
      'deploy/three.mjs',
      'deploy/x/four.ts',
      'deploy/x/five.ts',
      'services/docs/pages/six-thread.ts',
    ])
    const isUnseen = (path: string): boolean =>
      path.endsWith('-thread.ts') && !inside.some(({ to }) => to === path)
    expect(files.filter(isUnseen)).toEqual([])
  })

  it('point one way: through the parts of each folder, and through the stages of the data flow', () => {
    expect(isUpward({ from: 'pipelines/log/port.ts', to: 'services/config.ts' })).toBe(true)
    expect(
      isUpward({ from: 'services/explorer/faces/rest/x.ts', to: 'services/explorer/faces/grpc/y.ts' }),
    ).toBe(true)
    expect(inside.filter((edge) => isUpward(edge) || isForeign(edge)).map(shown)).toEqual([])
  })

  it('have no cycles', () => {
    expect(cycles()).toEqual([])
  })

  it('of two folders beside each other point one way', () => {
    const pairs = new Map<string, string>()
    for (const edge of inside) {
      const { folder, parts, isFile } = partsOf(edge)
      if (!isFile) pairs.set([folder, ...parts].join(' '), shown(edge))
    }
    const mutual = [...pairs].filter(([pair]) => {
      const [folder, from, to] = pair.split(' ')
      return pairs.has([folder, to, from].join(' '))
    })
    expect(mutual.map(([, edge]) => edge)).toEqual([])
  })

  it('of some folders are few', () => {
    const wrong = edges.filter(({ from, to }) => {
      const closed = Object.keys(CLOSED).find((folder) => from.startsWith(folder))
      return closed !== undefined && !to.startsWith(closed) && CLOSED[closed]?.includes(to) !== true
    })
    expect(wrong.map(shown)).toEqual([])
  })

  it('of each driver are in one file', () => {
    for (const driver of DRIVERS) {
      const uses = edges.filter(({ from, to }) => to === driver && /^(services|pipelines)\//.test(from))
      const importers = [...new Set(uses.map(({ from }) => from))]
      expect(importers.slice(1), `${driver} is imported by ${String(importers[0])} already`).toEqual([])
    }
  })

  it('of gRPC are in services/rpc', () => {
    const importers = edges.filter(({ from, to }) => to === '@grpc/grpc-js' && from.startsWith('services/'))
    expect(importers.filter(({ from }) => !from.startsWith('services/rpc/')).map(shown)).toEqual([])
  })
})

function cycles(): string[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of inside) targets.set(from, [...(targets.get(from) ?? []), to])
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return found
}
