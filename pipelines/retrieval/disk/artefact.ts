import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { coded } from '../../errors.js'
import { ANALYSIS_VERSION } from '../words/analysis.js'
import { CHUNKING_VERSION } from '../index/chunk.js'
import { DIMENSIONS } from '../model/embedding-messages.js'
import { checksumOf } from '../../download.js'
import { Neighbours } from '../meaning/neighbours.js'
import type { EmbeddedChunks } from '../meaning/semantic.js'

/** Names the files that this process writes. In containers, processes on one folder may have the same process id. */
export const PROCESS_ID = randomBytes(6).toString('hex')

/** The format of the folder. Folders of other formats are not read. */
const FORMAT = 1
const POINTER = 'current'
/** The file of the analysed pages, which belong to no index in particular. */
export const WORDS = 'words'
const GRAPH = 'graph.hnsw'

/** The part of the index that takes long to build. The rest is built from the content within a second. */
export interface Artefact extends EmbeddedChunks {
  /** Checksum of the model that made the vectors. */
  readonly model: string
  /** Version of the indexed content. */
  readonly content: string
  readonly builtAtMs: number
}

interface Manifest {
  readonly format: number
  readonly analysis: number
  readonly chunking: number
  readonly dimensions: number
  readonly model: string
  readonly content: string
  readonly built_at: string
  readonly graph: { readonly next_label: number; readonly removed: number }
  /** SHA-256 of the other files, by name. */
  readonly files: Readonly<Record<string, string>>
  readonly chunks: readonly (readonly [id: string, hash: string, label: number])[]
}

/** Thrown if the index on disk cannot be used; the message contains the reason. */
export class ArtefactUnusable extends coded('HW_RETRIEVAL_INDEX_INVALID') {}

/**
 * Writes an index into a new folder and then names it in the pointer, each synced, so that a crash leaves the previous index.
 * Afterwards removes what is no longer needed: earlier indexes, and the journals of this process.
 */
export async function writeArtefact(folder: string, artefact: Artefact): Promise<void> {
  const name = `${String(artefact.builtAtMs)}-${PROCESS_ID}-${randomBytes(4).toString('hex')}`
  const target = join(folder, name)
  try {
    await writeNamed(target, artefact)
    const draft = join(folder, `${POINTER}.${name}`)
    await writeFile(draft, name)
    await sync(draft)
    await rename(draft, join(folder, POINTER))
  } catch (error) {
    // A full disk is not to be filled further by indexes that nothing names.
    for (const path of [target, join(folder, `${POINTER}.${name}`)])
      await rm(path, { recursive: true, force: true }).catch(() => undefined)
    throw error
  }
  await sync(folder)
  await sweep(folder, name)
}

async function writeNamed(target: string, artefact: Artefact): Promise<void> {
  await mkdir(target, { recursive: true })
  await artefact.graph.write(join(target, GRAPH))
  await sync(join(target, GRAPH))
  const files = { [GRAPH]: await checksumOf(join(target, GRAPH)) }
  await writeFile(join(target, 'manifest.json'), JSON.stringify(manifestOf(artefact, files)))
  await sync(join(target, 'manifest.json'))
  await sync(target)
}

/**
 * Reads the index that the pointer names; returns undefined if there is no pointer.
 * @param model checksum of the model that must have made its vectors.
 * @throws ArtefactUnusable if it is truncated, altered, made with another model or version, or not an index.
 */
export async function readArtefact(folder: string, model: string): Promise<Artefact | undefined> {
  const name = await pointed(folder)
  if (name === undefined) return undefined
  try {
    return await readNamed(folder, name, model)
  } catch (error) {
    // Another process has written a new index meanwhile, and removed this one.
    if ((await pointed(folder)) !== name) return readArtefact(folder, model)
    throw error
  }
}

const pointed = (folder: string): Promise<string | undefined> =>
  readFile(join(folder, POINTER), 'utf8').catch(() => undefined)

async function readNamed(folder: string, name: string, model: string): Promise<Artefact> {
  if (!/^[\w-]+$/.test(name)) throw new ArtefactUnusable('its pointer names no folder')
  const from = join(folder, name)
  const manifest = await readManifest(from)
  if (manifest.model !== model) throw new ArtefactUnusable('it was made with another model')
  const sum = await checksumOf(join(from, GRAPH)).catch(() => 'none')
  if (sum !== manifest.files[GRAPH]) throw new ArtefactUnusable(`${GRAPH} was changed after it was written`)
  const chunks = manifest.chunks.map(([id, hash, label]) => ({ id, hash, label }))
  const { next_label: nextLabel, removed } = manifest.graph
  const graph = new Neighbours({ path: join(from, GRAPH), nextLabel, removed })
  if (graph.size !== chunks.length) throw new ArtefactUnusable('its graph has other chunks')
  // Their vectors are not read: taking all out of the graph would take as long as the rest of a start.
  if (
    new Set(chunks.map(({ label }) => label)).size !== chunks.length ||
    !chunks.every(({ label }) => graph.has(label))
  )
    throw new ArtefactUnusable('its graph lacks a vector')
  return {
    model,
    content: manifest.content,
    builtAtMs: Date.parse(manifest.built_at),
    chunks,
    graph,
  }
}

/** Returns content version and build time of the index on disk, which need no model; undefined if no index can be read. */
export async function describeArtefact(
  folder: string,
): Promise<Pick<Artefact, 'content' | 'builtAtMs'> | undefined> {
  try {
    const manifest = await readManifest(join(folder, await readFile(join(folder, POINTER), 'utf8')))
    return { content: manifest.content, builtAtMs: Date.parse(manifest.built_at) }
  } catch {
    return undefined
  }
}

function manifestOf(
  { model, content, builtAtMs, chunks, graph }: Artefact,
  files: Record<string, string>,
): Manifest {
  return {
    format: FORMAT,
    analysis: ANALYSIS_VERSION,
    chunking: CHUNKING_VERSION,
    dimensions: DIMENSIONS,
    model,
    content,
    built_at: new Date(builtAtMs).toISOString(),
    graph: { next_label: graph.nextLabel, removed: graph.removed },
    files,
    chunks: chunks.map(({ id, hash, label }) => [id, hash, label]),
  }
}

async function readManifest(folder: string): Promise<Manifest> {
  let manifest: Partial<Manifest> | null
  try {
    manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Partial<Manifest> | null
  } catch {
    throw new ArtefactUnusable('its manifest cannot be read')
  }
  const { format, analysis, chunking, dimensions } = manifest ?? {}
  if (format !== FORMAT) throw new ArtefactUnusable('it has another format')
  if (analysis !== ANALYSIS_VERSION || chunking !== CHUNKING_VERSION || dimensions !== DIMENSIONS)
    throw new ArtefactUnusable('it has another version')
  if (!isManifest(manifest)) throw new ArtefactUnusable('its manifest lacks fields')
  return manifest
}

function isManifest(manifest: Partial<Manifest> | null): manifest is Manifest {
  const { model, content, built_at, graph, files, chunks } = manifest ?? {}
  return (
    typeof model === 'string' &&
    typeof content === 'string' &&
    !Number.isNaN(Date.parse(built_at ?? '')) &&
    Number.isSafeInteger(graph?.next_label) &&
    Number.isSafeInteger(graph?.removed) &&
    typeof files === 'object' &&
    Array.isArray(chunks) &&
    chunks.every(
      (each) =>
        Array.isArray(each) &&
        typeof each[0] === 'string' &&
        typeof each[1] === 'string' &&
        Number.isSafeInteger(each[2]),
    )
  )
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes all folders and drafts except the named folder and those that another process may be writing or reading. */
async function sweep(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry === POINTER || entry === WORDS || entry === name) continue
    const path = join(folder, entry)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (isOwn(entry) || Date.now() - mtimeMs > ABANDONED_MS) await rm(path, { recursive: true, force: true })
  }
}

/** The age from which a folder of another process is abandoned. Writing and reading take less time. */
const ABANDONED_MS = 3_600_000

const isOwn = (entry: string): boolean => entry.split('-')[1] === PROCESS_ID
