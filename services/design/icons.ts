import { html, type Html } from './html.js'

/** Paths of 24 by 24 units, drawn as lines. */
const ICONS = {
  menu: 'M4 7h16M4 12h16M4 17h16',
  mark: 'M3 8c3 0 3 3 6 3s3-3 6-3 3 3 6 3M3 14c3 0 3 3 6 3s3-3 6-3 3 3 6 3',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm9 3-4.5-4.5',
  chat: 'M4 5h16v11H9l-5 4z',
  theme: 'M12 3v18M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.500-1.500M17.500 6.500 19 5',
  moon: 'M20 14.500A8.500 8.500 0 0 1 9.500 4a8 8 0 1 0 10.500 10.500z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  spark: 'M12 3l1.8 5.2L19 10l-5.2 1.8L12 17l-1.8-5.2L5 10l5.2-1.8zM19 16v4M17 18h4',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  close: 'M6 6l12 12M18 6L6 18',
  again: 'M4 12a8 8 0 1 0 3-6.2M4 4v5h5',
  send: 'M4 12h15M13 6l6 6-6 6',
  before: 'M15 5l-7 7 7 7',
  after: 'M9 5l7 7-7 7',
  shield: 'M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.500-7-10V6z',
  book: 'M5 4h6a1 1 0 0 1 1 1v15a2 2 0 0 0-2-2H5zM19 4h-6a1 1 0 0 0-1 1v15a2 2 0 0 1 2-2h5z',
  globe: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
} as const

export type IconName = keyof typeof ICONS

/** Returns an icon, which is decoration: the element around it has a name. */
export const icon = (name: IconName): Html =>
  html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}" /></svg>`
