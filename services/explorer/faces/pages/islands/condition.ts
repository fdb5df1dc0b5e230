import { Idiomorph } from 'idiomorph'
import { localise } from './times.js'

/** The time after which a visible page requests its condition again: nothing announces a standstill. */
const EVERY_MS = 10_000
/** The shortest time between two requests because of blocks. */
const BLOCKS_MS = 1_000

const line = document.querySelector<HTMLElement>('.feed')
let trouble = line?.querySelector('[role=status]')?.textContent ?? ''
let requestedAt = Date.now()

/** Shows whether the feed is connected; undefined for a page without one. */
export function showConnection(state: 'live' | 'lost'): void {
  if (line === null) return
  line.dataset['state'] = state
  showStatus(line)
}

/** Keeps the sentence about the condition of the explorer up to date while the page is visible. A page may have been made long ago. */
export function keepCondition(): void {
  void updateCondition()
  setInterval(() => {
    if (!document.hidden && Date.now() - requestedAt >= EVERY_MS) void updateCondition()
  }, 1_000)
}

/** Requests the condition, unless the page is hidden, or several blocks arrive together. */
export function conditionChanged(): void {
  if (!document.hidden && Date.now() - requestedAt >= BLOCKS_MS) void updateCondition()
}

async function updateCondition(): Promise<void> {
  if (line === null) return
  requestedAt = Date.now()
  const facts = line.querySelector<HTMLElement>('.facts')
  try {
    const response = await fetch(line.dataset['url'] ?? '')
    if (!response.ok) throw new Error(String(response.status))
    const next = new DOMParser().parseFromString(await response.text(), 'text/html')
    localise(next)
    const newer = next.querySelector('.facts')
    trouble = next.querySelector('[role=status]')?.textContent ?? ''
    line.dataset['level'] = next.querySelector<HTMLElement>('.feed')?.dataset['level'] ?? ''
    if (facts !== null && newer !== null) {
      void Idiomorph.morph(facts, newer)
      facts.hidden = false
    }
  } catch {
    // Nothing is known: what was true before may not be any more.
    if (facts !== null) facts.hidden = true
  }
  showStatus(line)
}

/** Shows a lost connection, otherwise the trouble, otherwise that the page is live. A screen reader announces each change. */
function showStatus({ dataset, children: [status] }: HTMLElement): void {
  const { state, level } = dataset
  const text = state === 'lost' ? dataset['lost'] : level === 'good' ? dataset[state ?? ''] : trouble
  if (status !== undefined && status.textContent !== (text ?? '')) status.textContent = text ?? ''
}
