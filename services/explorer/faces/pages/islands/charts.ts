import { region } from './times.js'

const CLOCK = { hour: '2-digit', minute: '2-digit' } as const
const TIME = new Intl.DateTimeFormat(region, CLOCK)
const DATE_AND_TIME = new Intl.DateTimeFormat(region, { day: 'numeric', month: 'short', ...CLOCK })
/** The keys that move the cursor, and by how many points. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

/** Shows the figures of the point below the pointer in the legend of its chart; the arrow keys move to another point. */
export function startCharts(): void {
  const charts = [...document.querySelectorAll<HTMLElement>('figure.chart')].map(
    (figure) => new Cursor(figure),
  )
  addEventListener('page:updated', () => {
    for (const chart of charts) chart.update()
  })
}

/** The cursor of a chart. The table of the chart has its figures. */
class Cursor {
  readonly #figure: HTMLElement
  /** The index of the point; undefined while the legend shows the last one. */
  #at: number | undefined

  constructor(figure: HTMLElement) {
    this.#figure = figure
    const plot = this.#plot
    plot.addEventListener('pointermove', ({ clientX }) => this.#show(this.#nearest(clientX)))
    plot.addEventListener('pointerleave', () => this.#show(undefined))
    plot.addEventListener('blur', () => this.#show(undefined))
    plot.addEventListener('keydown', (event) => {
      const step = STEPS[event.key]
      if (step === undefined) return
      event.preventDefault()
      const last = this.#rows.length - 1
      this.#show(Math.min(last, Math.max(0, (this.#at ?? last) + step)))
    })
    this.update()
  }

  get #plot(): SVGElement {
    return this.#figure.querySelector('svg.figures') as SVGElement
  }

  get #rows(): HTMLTableRowElement[] {
    return [...this.#figure.querySelectorAll<HTMLTableRowElement>('figcaption tbody tr')]
  }

  /** Adapts what the server has sent: the times of day of the axis, and the cursor. */
  update(): void {
    for (const text of this.#figure.querySelectorAll<SVGElement>('[data-time]')) {
      const format = /[^\d:.\s]/.test(text.textContent) ? DATE_AND_TIME : TIME
      text.textContent = format.format(Number(text.dataset['time']))
      delete text.dataset['time']
    }
    const plot = this.#plot
    plot.setAttribute('tabindex', '0')
    plot.setAttribute('role', 'slider')
    plot.setAttribute('aria-valuemin', '1')
    plot.setAttribute('aria-valuemax', String(this.#rows.length))
    this.#show(this.#at)
  }

  /** Returns the index of the point at a position of the screen. */
  #nearest(clientX: number): number {
    const { left, width } = this.#plot.getBoundingClientRect()
    const at = (clientX - left) / width
    const distances = this.#positions().map((position) => Math.abs(position - at))
    return distances.indexOf(Math.min(...distances))
  }

  /** Returns the positions of the points, as parts of the width. */
  #positions(): number[] {
    const values = this.#rows.map(({ cells: [first] }) => valueOf(first?.firstElementChild))
    const least = Math.min(...values)
    const span = Math.max(...values) - least
    return values.map((value) => (value - least) / (span || 1))
  }

  #show(at: number | undefined): void {
    this.#at = at
    const rows = this.#rows
    const index = at ?? rows.length - 1
    const cells = [...(rows[index]?.cells ?? [])]
    for (const [column, shown] of this.#figure.querySelectorAll('.legend dd').entries())
      shown.replaceChildren(...[...(cells[column]?.childNodes ?? [])].map((node) => node.cloneNode(true)))
    const plot = this.#plot
    plot.setAttribute('aria-valuenow', String(index + 1))
    plot.setAttribute('aria-valuetext', cells.map(({ textContent }) => textContent).join(', '))
    const cursor = plot.querySelector('.cursor') as SVGLineElement
    cursor.setAttribute('visibility', at === undefined ? 'hidden' : 'visible')
    const x = `${String((this.#positions()[index] ?? 0) * 100)}%`
    cursor.setAttribute('x1', x)
    cursor.setAttribute('x2', x)
  }
}

const valueOf = (element: Element | null | undefined): number =>
  element instanceof HTMLTimeElement
    ? Date.parse(element.dateTime)
    : Number((element as HTMLDataElement).value)
