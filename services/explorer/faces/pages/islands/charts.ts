import uPlot from 'uplot'
import { region } from './times.js'

const HEIGHT = 260
const SHOWN_LINES = 2

/** Draws the charts of the page from their tables, and again when these or the theme change. */
export function drawCharts(): void {
  const charts = [...document.querySelectorAll<HTMLElement>('figure.chart')].map(
    (figure) => new Chart(figure),
  )
  addEventListener('page:updated', () => {
    for (const chart of charts) chart.update()
  })
  const redraw = (): void => {
    for (const chart of charts) chart.draw()
  }
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ['data-theme'] })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  new ResizeObserver(() => {
    for (const chart of charts) chart.resize()
  }).observe(document.body)
}

interface Figures {
  readonly data: uPlot.AlignedData
  /** The texts of the cells, by line and point: exact, and in the language of the page. */
  readonly texts: readonly (readonly string[])[]
}

class Chart {
  readonly #figure: HTMLElement
  readonly #plot: HTMLElement
  #chart: uPlot | undefined
  #figures: Figures

  constructor(figure: HTMLElement) {
    this.#figure = figure
    this.#plot = figure.querySelector('.plot') as HTMLElement
    this.#figures = figuresOf(figure)
    this.draw()
  }

  draw(): void {
    this.#chart?.destroy()
    // A variable itself may have the values of both themes.
    const colour = (name: string): string => {
      this.#plot.style.color = `var(${name})`
      return getComputedStyle(this.#plot).color
    }
    const titles = [...this.#figure.querySelectorAll('figcaption thead th')].map((each) => each.textContent)
    const isTime = this.#figure.querySelector('figcaption tbody time') !== null
    const [accent, quantum, line, soft] = ['--accent', '--quantum', '--line', '--soft'].map(colour)
    this.#plot.style.color = ''
    const axis = {
      stroke: soft ?? '',
      grid: { stroke: line ?? '', width: 1 },
      ticks: { stroke: line ?? '', width: 1 },
    }
    const text = (series: number, index: number | null): string =>
      index === null ? '–' : (this.#figures.texts[series]?.[index] ?? '')
    this.#plot.replaceChildren()
    this.#chart = new uPlot(
      {
        width: this.#plot.clientWidth,
        height: HEIGHT,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        scales: { x: { time: isTime } },
        axes: [
          { ...axis, ...(isTime ? { values: (_: uPlot, values: number[]) => values.map(dayOf) } : {}) },
          { ...axis, size: 64, values: (_, values) => values.map(short) },
        ],
        series: [
          { label: titles[0] ?? '', value: (_, __, ___, index) => text(0, index) },
          ...titles.slice(1, SHOWN_LINES + 1).map((label, index) => {
            const stroke = (index === 0 ? accent : quantum) ?? ''
            return {
              label,
              stroke,
              width: 2,
              ...(index === 0 ? { fill: `color-mix(in srgb, ${stroke} 12%, transparent)` } : {}),
              value: (_: uPlot, __: number, ___: number, at: number | null) => text(index + 1, at),
            }
          }),
        ],
      },
      this.#figures.data,
      this.#plot,
    )
  }

  update(): void {
    this.#figures = figuresOf(this.#figure)
    this.#chart?.setData(this.#figures.data)
  }

  resize(): void {
    this.#chart?.setSize({ width: this.#plot.clientWidth, height: HEIGHT })
  }
}

function figuresOf(figure: HTMLElement): Figures {
  const rows = [...figure.querySelectorAll<HTMLTableRowElement>('figcaption tbody tr')]
  const scale = Number(figure.dataset['scale'])
  const columns = Math.min(SHOWN_LINES + 1, rows[0]?.cells.length ?? 0)
  const cells = Array.from({ length: columns }, (_, column) =>
    rows.map((row) => row.cells[column] as HTMLElement),
  )
  return {
    data: cells.map((column, index) =>
      column.map((cell) => numberOf(cell) * (index === 0 ? 1 : scale)),
    ) as unknown as uPlot.AlignedData,
    texts: cells.map((column) => column.map(({ textContent }) => textContent)),
  }
}

function numberOf(cell: HTMLElement): number {
  const element = cell.firstElementChild
  if (element instanceof HTMLTimeElement) return Date.parse(element.dateTime) / 1000
  return Number((element as HTMLDataElement).value)
}

const DAY = new Intl.DateTimeFormat(region, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** @param seconds Unix time. */
const dayOf = (seconds: number): string => DAY.format(seconds * 1000)

const UNITS = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z']

/** Returns a number with a unit prefix, for the axis. */
function short(value: number): string {
  const unit = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.abs(value) || 1) / 3)))
  return `${String(Number((value / 1000 ** unit).toPrecision(3)))}${UNITS[unit] ?? ''}`
}
