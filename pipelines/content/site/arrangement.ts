import { orderOf } from '../links.js'
import type { Draft } from '../page.js'
import { languageFolderOf, type Languages } from './languages.js'
import { namesOf, type Conventions } from './names.js'
import type { FolderOrder, OrderEntry, Ordering } from './order-file.js'
import type { Chapter } from './summary.js'

/** A level of the list of pages: a folder, or the page itself. */
export interface Level {
  /** Identifies the level among its siblings. */
  readonly name: string
  /** Position among the siblings; Infinity without one. */
  readonly order: number
  /** The name that readers see, if a file that orders pages gives one. */
  readonly label: string | undefined
}

/** The place of a page in the list of pages. */
export interface Arranged {
  /** Outermost first; empty for the root page. */
  readonly levels: readonly Level[]
  /** True if a file that orders pages hides the page. */
  readonly isHidden: boolean
}

interface Written {
  readonly file: string
  readonly draft: Pick<Draft, 'order'>
}

/** Arranges the pages of a site: by the files that order pages, by the order that pages give themselves, and by name. */
export class Arrangement {
  readonly #conventions: Conventions
  readonly #languages: Languages
  readonly #folders = new Map<string, FolderOrder[]>()
  readonly #chapters = new Map<string, readonly Level[]>()
  /** The order that the page of a folder gives the folder. */
  readonly #orders = new Map<string, number>()

  constructor(
    written: readonly Written[],
    orderings: readonly Ordering[],
    conventions: Conventions,
    languages: Languages,
  ) {
    this.#conventions = conventions
    this.#languages = languages
    for (const folder of orderings.flatMap(({ folders }) => folders))
      this.#folders.set(folder.folder, [...(this.#folders.get(folder.folder) ?? []), folder])
    for (const { file, summary } of orderings)
      if (summary !== undefined) this.#readChapters(summary.chapters, this.#outer(file), 0)
    for (const { file, draft } of written) {
      const { folders, name } = namesOf(file, conventions)
      if (name === undefined && draft.order !== undefined) this.#orders.set(folders.join('/'), draft.order)
    }
  }

  /** Returns the place of a page. */
  of({ file, draft }: Written): Arranged {
    const chapter = this.#chapters.get(file)
    if (chapter !== undefined) return { levels: chapter, isHidden: false }
    const { folders, name } = namesOf(file, this.#conventions)
    const outer = languageFolderOf(file, this.#languages).folder === '' ? 0 : 1
    const levels: Level[] = []
    let isHidden = false
    for (let depth = outer; depth < folders.length; depth++) {
      const path = folders.slice(0, depth + 1)
      const entry = this.#entry(folders.slice(0, depth), path.at(-1) ?? '')
      isHidden ||= entry?.entry.isHidden === true
      levels.push(this.#folderLevel(path, entry))
    }
    if (name === undefined) return { levels, isHidden: isHidden || this.#isIndexHidden(folders) }
    const entry = this.#entry(folders, name)
    const order = entry?.index ?? draft.order ?? orderOf(name) ?? Infinity
    levels.push({ name, order, label: entry?.entry.label })
    return { levels, isHidden: isHidden || entry?.entry.isHidden === true }
  }

  #folderLevel(path: readonly string[], entry: { index: number; entry: OrderEntry } | undefined): Level {
    const own = this.#folders.get(path.join('/')) ?? []
    const position = own.find((each) => each.position !== undefined)?.position
    const name = path.at(-1) ?? ''
    const order = entry?.index ?? position ?? this.#orders.get(path.join('/')) ?? orderOf(name) ?? Infinity
    const label = entry?.entry.label ?? own.find((each) => each.label !== undefined)?.label
    return { name, order, label }
  }

  /** Returns what the order of a folder says about a name in it. */
  #entry(folders: readonly string[], name: string): { index: number; entry: OrderEntry } | undefined {
    for (const { entries } of this.#folders.get(folders.join('/')) ?? []) {
      const index = entries.findIndex((entry) => entry.name === name)
      const entry = entries[index]
      if (entry !== undefined) return { index, entry }
    }
    return undefined
  }

  #isIndexHidden(folders: readonly string[]): boolean {
    return this.#entry(folders, 'index')?.entry.isHidden === true
  }

  /** Returns the levels above the chapters of a book: the folders of its file. */
  #outer(file: string): readonly Level[] {
    const { folder, path } = languageFolderOf(file, this.#languages)
    const names = path.split('/').slice(0, -1)
    return names.map((_, depth) =>
      this.#folderLevel([...(folder === '' ? [] : [folder]), ...names.slice(0, depth + 1)], undefined),
    )
  }

  /** Notes the places of chapters. @returns the number of chapters before the next one. */
  #readChapters(chapters: readonly Chapter[], outer: readonly Level[], before: number): number {
    let count = before
    for (const { title, file, chapters: inner } of chapters) {
      const level: Level = {
        name: file ?? `: ${title}`,
        order: count++,
        label: title === '' ? undefined : title,
      }
      const isRoot = file !== undefined && outer.length === 0 && this.#isRoot(file)
      const levels = [...outer, level]
      // A file that is listed twice has the place of the first.
      if (file !== undefined && !this.#chapters.has(file)) this.#chapters.set(file, isRoot ? [] : levels)
      count = this.#readChapters(inner, isRoot ? outer : levels, count)
    }
    return count
  }

  #isRoot(file: string): boolean {
    const { path } = languageFolderOf(file, this.#languages)
    const { folders, name } = namesOf(path, this.#conventions)
    return folders.length === 0 && name === undefined
  }
}
