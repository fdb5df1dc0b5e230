import { html, type Html } from './html.js'
import { icon } from './icons.js'

/** The words of the bar and of the search, in the language of the page. */
export interface BarWords {
  readonly search: string
  /** Placeholder and name of the search. */
  readonly searchFor: string
  readonly typeToSearch: string
  readonly nothingFound: string
  /** Follows the number of results. */
  readonly results: string
  readonly close: string
  /** The name of the button of the theme, which the chosen one follows. */
  readonly theme: string
  readonly themes: Readonly<Record<'system' | 'light' | 'dark', string>>
}

export const ENGLISH: BarWords = {
  search: 'Search',
  searchFor: 'Search the documentation',
  typeToSearch: 'Type to search.',
  nothingFound: 'Nothing found.',
  results: 'found. ↑ ↓ to select, Enter to open.',
  close: 'Close',
  theme: 'Theme',
  themes: { system: 'as the system', light: 'light', dark: 'dark' },
}

export interface Bar {
  /** The part left of the name. */
  readonly before?: Html | undefined
  /** The path of the first page. */
  readonly home: string
  readonly name: string
  /** The picture before the name. Left out: Headwater's mark. */
  readonly logo?: Html | undefined
  /** The text after the name. */
  readonly note?: string | undefined
  /** The part between the name and the search. */
  readonly links?: Html | undefined
  /** The part between the search and the theme. */
  readonly actions?: Html | undefined
  readonly words: BarWords
}

/** Returns the bar at the top of all pages. */
export const bar = ({ before, home, name, logo = icon('mark'), note, links, actions, words }: Bar): Html =>
  html`<header class="bar">
    ${before}
    <a class="brand" href="${home}"
      >${logo}<span>${name}</span>${note === undefined ? undefined : html` <small>${note}</small>`}</a
    >
    ${links}
    <button class="find" type="button" aria-keyshortcuts="/ Control+K">
      ${icon('search')}<span>${words.search}</span><kbd>/</kbd>
    </button>
    ${actions}
    <button
      class="icon theme"
      type="button"
      data-name="${words.theme}"
      data-system="${words.themes.system}"
      data-light="${words.themes.light}"
      data-dark="${words.themes.dark}"
      aria-label="${words.theme}"
    >
      ${icon('theme')}${icon('sun')}${icon('moon')}
    </button>
  </header>`

/** Returns the dialog of the search. @param endpoint the URL of the results, to which the query is appended. */
export const searchDialog = (endpoint: string, words: BarWords): Html =>
  html`<dialog
    class="search"
    aria-label="${words.searchFor}"
    data-endpoint="${endpoint}"
    data-hint="${words.typeToSearch}"
    data-nothing="${words.nothingFound}"
    data-results="${words.results}"
  >
    <form method="dialog">
      ${icon('search')}<input
        type="search"
        placeholder="${words.searchFor}"
        aria-label="${words.search}"
        role="combobox"
        aria-expanded="false"
        aria-controls=":results"
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck="false"
        maxlength="1000"
      /><button class="icon" type="submit" aria-label="${words.close}">${icon('close')}</button>
    </form>
    <ul id=":results" role="listbox" aria-label="${words.search}"></ul>
    <p class="note" role="status">${words.typeToSearch}</p>
  </dialog>`
