/** Closes the menus of the bar by Escape, a click elsewhere, and the focus that leaves them; keeps the arguments of a page in other languages. */
export function startMenus(): void {
  // The page in another language has the same arguments, and the same part in view.
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.languages a'))
    link.addEventListener('click', () => {
      link.search = location.search
      link.hash = location.hash
    })
  const open = (): HTMLDetailsElement[] => [
    ...document.querySelectorAll<HTMLDetailsElement>('.bar details[open]'),
  ]
  const closeUnlessIn = ({ target }: Event): void => {
    for (const menu of open()) if (!menu.contains(target as Node)) menu.open = false
  }
  document.addEventListener('click', closeUnlessIn)
  document.addEventListener('focusin', closeUnlessIn)
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    for (const menu of open()) {
      menu.open = false
      menu.querySelector('summary')?.focus()
    }
  })
}

/**
 * Opens the list of keys by `?` and by the button of the foot, and makes the keys ← and → lead to the blocks beside that of the page, or
 * to the pages beside that of a list.
 */
export function startKeys(): void {
  const dialog = document.querySelector<HTMLDialogElement>('dialog.keys')
  const button = document.querySelector<HTMLButtonElement>('.foot button.keys')
  if (dialog === null || button === null) return
  button.hidden = false
  button.addEventListener('click', () => {
    dialog.showModal()
  })
  document.addEventListener('keydown', ({ key, ctrlKey, metaKey, altKey, target, defaultPrevented }) => {
    // In a field, a table that scrolls or an open dialog, keys have another meaning.
    const isTaken = (target as Element).closest('input, textarea, select, dialog, [tabindex="0"]') !== null
    if (isTaken || defaultPrevented || ctrlKey || metaKey || altKey) return
    if (key === '?') dialog.showModal()
    const rel = key === 'ArrowLeft' ? 'prev' : key === 'ArrowRight' ? 'next' : undefined
    if (rel !== undefined) document.querySelector<HTMLAnchorElement>(`main a[rel=${rel}]`)?.click()
  })
}
