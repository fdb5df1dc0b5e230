/** Lists at whose beginning a live page adds entries, and maps. */
const LIST = '.scroll, ol.cubes, .map'
const ENTRY = 'tbody tr, .cube'
/** The shortest time between two announcements for screen readers. */
const ANNOUNCED_MS = 10_000

type Apply = (list: Element, next: Element) => void

/** The newer versions of lists that do not change while they are read. */
const held = new Map<Element, { readonly next: Element; readonly apply: Apply }>()
let announcedAt = 0

/**
 * Keeps a list as it is while the pointer is over it or the keyboard is in it: what is read, or about to be clicked, does not
 * move. A button has the number of new entries, and shows them; leaving the list does too.
 * @returns false for an element that may change now.
 */
export function hold(list: Element, next: Element, apply: Apply): boolean {
  if (!list.matches(LIST) || !isInUse(list)) {
    held.delete(list)
    return false
  }
  held.set(list, { next, apply })
  const shown = new Set(keysOf(list))
  const keys = keysOf(next)
  const count = keys.filter((key) => !shown.has(key)).length
  // The others may have come and gone meanwhile.
  if (count > 0) announce(list, count === keys.length ? `${String(count)}+` : String(count))
  return true
}

/** Shows what was held as soon as its list is left. */
export function startHolding(): void {
  const releaseUnless = (isUsed: (list: Element) => boolean) => (): void => {
    for (const list of held.keys()) if (!isUsed(list)) release(list)
  }
  for (const event of ['pointerover', 'focusin', 'focusout'])
    document.addEventListener(event, releaseUnless(isInUse))
  // Outside the window, the pointer is over what it left.
  document.documentElement.addEventListener('pointerleave', releaseUnless(isFocused))
}

const isFocused = (list: Element): boolean => list.matches(':focus-visible, :has(:focus-visible)')

/** A finger does not hover: what it touched last still matches. */
const isInUse = (list: Element): boolean =>
  isFocused(list) || (matchMedia('(hover: hover)').matches && list.matches(':hover'))

const keysOf = (list: Element): string[] =>
  [...list.querySelectorAll<HTMLElement>(ENTRY)].map((entry) => entry.dataset['key'] ?? entry.id)

function release(list: Element): void {
  const newer = held.get(list)
  held.delete(list)
  list.querySelector('.fresh')?.remove()
  if (newer !== undefined && list.isConnected) newer.apply(list, newer.next)
}

function announce(list: Element, count: string): void {
  const text = (document.querySelector('main')?.dataset['fresh'] ?? '').replace('{count}', count)
  let button = list.querySelector<HTMLButtonElement>('.fresh button')
  if (button === null) {
    const place = document.createElement(list.tagName === 'OL' ? 'li' : 'div')
    place.className = 'fresh'
    button = document.createElement('button')
    button.type = 'button'
    button.addEventListener('click', () => {
      release(list)
      list.querySelector('a')?.focus()
    })
    place.append(button)
    list.prepend(place)
  }
  button.textContent = text
  const status = document.querySelector('.announcements')
  if (status === null || Date.now() - announcedAt < ANNOUNCED_MS) return
  announcedAt = Date.now()
  status.textContent = text
}
