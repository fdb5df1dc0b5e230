/** A watched object: its label, the state at the last visit, and the state that was seen since. */
interface Entry {
  readonly id: string
  readonly label: string
  readonly seen: string
  readonly latest: string
}

const KEY = 'watch'
const MOST = 100

function entries(): Entry[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]') as Entry[]
  } catch {
    return []
  }
}

const save = (list: readonly Entry[]): void => {
  localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)))
}

/** Makes the button of an object add it to the list, or remove it, and keeps the page of the list. Nothing is sent but by that page. */
export function startWatching(): void {
  const area = document.querySelector<HTMLTextAreaElement>('form.watch textarea')
  // What was new at the last visit is known now.
  if (area !== null) save(entries().map((entry) => ({ ...entry, seen: entry.latest || entry.seen })))
  const show = (): void => {
    const list = entries()
    for (const button of document.querySelectorAll<HTMLButtonElement>('button.watch')) {
      button.setAttribute('aria-pressed', String(list.some(({ id }) => id === button.dataset['id'])))
    }
    showExport(list)
  }
  const fill = (): void => {
    const lines = entries().map((entry) => `${lineOf(entry)}\t${entry.seen}`)
    if (area !== null) area.value = lines.join('\n')
    show()
  }
  // Without a list of its own, the browser shows what the form had.
  if (entries().length > 0) fill()
  else show()
  document.addEventListener('click', ({ target }) => {
    const button = (target as Element).closest<HTMLButtonElement>('button.watch')
    if (button === null) return
    const { id = '', label = '' } = button.dataset
    const list = entries()
    const others = list.filter((each) => each.id !== id)
    save(others.length === list.length ? [...list, { id, label, seen: '', latest: '' }] : others)
    fill()
  })
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement
    if (area === null || !form.matches('.watch')) return
    event.preventDefault()
    save(typed(area.value))
    location.replace(form.action)
  })
  addEventListener('page:updated', () => {
    const shown = [...document.querySelectorAll<HTMLElement>('.watched .of')]
    const states = new Map(shown.map(({ dataset }) => [dataset['id'], dataset['now'] ?? '']))
    if (area !== null)
      save(entries().map((entry) => ({ ...entry, latest: states.get(entry.id) ?? entry.latest })))
    show()
  })
  addEventListener('storage', show)
}

const lineOf = ({ id, label }: Entry): string => `${id} ${label}`.trim()

/** Returns the list of a text: a line for each object, with its label after a space. */
function typed(text: string): Entry[] {
  const before = new Map(entries().map((entry) => [entry.id, entry]))
  return text.split('\n').flatMap((line) => {
    const [named = '', seen = ''] = line.split('\t')
    const [id = '', ...words] = named.trim().split(/\s+/)
    if (id === '') return []
    return [{ seen: seen.trim(), latest: '', ...before.get(id), id, label: words.join(' ') }]
  })
}

/** Offers the list as a file, whose text can be pasted into the form of another browser. */
function showExport(list: readonly Entry[]): void {
  const link = document.querySelector<HTMLAnchorElement>('form.watch a.export')
  if (link === null) return
  link.hidden = list.length === 0
  link.href = `data:text/plain;charset=utf-8,${encodeURIComponent(list.map(lineOf).join('\n'))}`
}
