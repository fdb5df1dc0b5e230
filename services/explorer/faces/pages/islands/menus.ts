/** Closes the menus of the bar by Escape, a click elsewhere, and the focus that leaves them. */
export function startMenus(): void {
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
