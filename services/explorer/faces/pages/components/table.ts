import { html, type Html, type Part } from '../../../../design/html.js'

export interface Column {
  readonly title: Part
  /** Numbers and amounts are aligned to the right. */
  readonly isNumber?: boolean
}

export interface Row {
  /** Identifies the row on the page, so that a live page moves it. */
  readonly id?: string
  /** Identifies the row in a list at whose beginning rows appear continuously: texts change in place, because nothing should move. */
  readonly key?: string
  readonly cells: readonly Part[]
}

/** Returns a table that scrolls if it is wider than the screen. @param caption describes it for screen readers. */
export function table(caption: string, columns: readonly Column[], rows: readonly Row[]): Html {
  const kinds = columns.map(({ isNumber }) => (isNumber === true ? html` class="num"` : undefined))
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ title }, index) => html`<th scope="col" ${kinds[index]}>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ id, key, cells }) =>
            html`<tr${id === undefined ? undefined : html` id="${id}"`}${key === undefined ? undefined : html` data-key="${key}"`}>${cells.map((cell, index) => html`<td${kinds[index]}>${cell}</td>`)}</tr>
`,
        )}
      </tbody>
    </table>
  </div>`
}
