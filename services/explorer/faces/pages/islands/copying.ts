const SHOWN_MS = 1_500

/** Makes the copy buttons work, also those that appear later. */
export function startCopying(): void {
  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('button.copy')
    const text = button?.dataset['copy']
    if (button === null || text === undefined) return
    void navigator.clipboard.writeText(text).then(() => {
      const name = button.getAttribute('aria-label') ?? ''
      button.classList.add('done')
      button.setAttribute('aria-label', button.dataset['copied'] ?? '')
      setTimeout(() => {
        button.classList.remove('done')
        button.setAttribute('aria-label', name)
      }, SHOWN_MS)
    })
  })
}
