import { fieldsIn, type Fields } from './values.js'

/** The lists and searches that contain a page. */
export interface Visibility {
  /** A draft is no page. */
  readonly isDraft: boolean
  /** An unlisted page can be read by those who know its URL; it is in no list, search or answer, and crawlers must not index it. */
  readonly isUnlisted: boolean
  /** False for a page that only the list of pages beside the text leaves out. */
  readonly isInNavigation: boolean
  /** False for a page that only search and answers leave out. */
  readonly isInSearch: boolean
}

export const LISTED: Visibility = {
  isDraft: false,
  isUnlisted: false,
  isInNavigation: true,
  isInSearch: true,
}

/** Returns the visibility of a page, by the fields of the tools that have such fields. */
export function visibilityIn(fields: Fields): Visibility {
  const search = fields['search']
  const build = fieldsIn(fields['build'] ?? fields['_build'])
  return {
    // Docusaurus, Starlight, Hugo; Jekyll; Hugo.
    isDraft: fields['draft'] === true || fields['published'] === false || isNever(build?.['render']),
    // Docusaurus; Mintlify and GitBook; Hugo.
    isUnlisted: fields['unlisted'] === true || fields['hidden'] === true || isNever(build?.['list']),
    // Starlight; Just the Docs; Docsy.
    isInNavigation: !(
      fieldsIn(fields['sidebar'])?.['hidden'] === true ||
      fields['nav_exclude'] === true ||
      fields['toc_hide'] === true
    ),
    // Starlight; VitePress; Material for MkDocs; Nextra; Just the Docs.
    isInSearch: !(
      fields['pagefind'] === false ||
      search === false ||
      fieldsIn(search)?.['exclude'] === true ||
      fields['searchable'] === false ||
      fields['search_exclude'] === true
    ),
  }
}

const isNever = (value: unknown): boolean => value === 'never' || value === false
