import { fieldsIn, type Fields } from './values.js'
import type { Tool } from '../page.js'

const DOCUSAURUS_FIELDS = [
  'sidebar_position',
  'sidebar_label',
  'sidebar_class_name',
  'sidebar_custom_props',
  'displayed_sidebar',
  'pagination_next',
  'pagination_prev',
  'pagination_label',
  'custom_edit_url',
  'hide_table_of_contents',
  'hide_title',
  'toc_max_heading_level',
  'unlisted',
] as const
const STARLIGHT_FIELDS = ['pagefind', 'tableOfContents', 'hero', 'editUrl', 'lastUpdated'] as const
const DOCUSAURUS_IMPORT = /^[ \t]*import\b[^\n]*\sfrom\s*['"](?:@theme|@site|@docusaurus)\//m
const STARLIGHT_IMPORT = /^[ \t]*import\b[^\n]*\sfrom\s*['"]@astrojs\/starlight\//m

/** Returns the software for which a file was written, by the fields and imports that no other has; undefined if there are none. */
export function toolOf(fields: Fields, body: string): Tool | undefined {
  if (DOCUSAURUS_FIELDS.some((name) => name in fields) || DOCUSAURUS_IMPORT.test(body)) return 'docusaurus'
  // VitePress has a hero too, but only in its own layout.
  const isStarlight = fields['layout'] === undefined && STARLIGHT_FIELDS.some((name) => name in fields)
  const hasSidebar = fieldsIn(fields['sidebar']) !== undefined
  return isStarlight || hasSidebar || STARLIGHT_IMPORT.test(body) ? 'starlight' : undefined
}
