const SHOWN_MS = 1_500

/** Makes the copy buttons work, also those that appear later. */
export function startCopying(): void {
  const status = document.querySelector('.announcements')
  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('button.copy')
    const { copy: text, copied = '' } = button?.dataset ?? {}
    if (button === null || text === undefined) return
    void copy(text, button).then((isCopied) => {
      if (!isCopied) return
      button.classList.add('done')
      if (status !== null) status.textContent = copied
      setTimeout(() => {
        button.classList.remove('done')
        if (status !== null) status.textContent = ''
      }, SHOWN_MS)
    })
  })
}

/** Copies a text. Selects what is beside its button where browsers give pages no clipboard: over plain HTTP. */
async function copy(text: string, button: Element): Promise<boolean> {
  // Not there without TLS.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard !== undefined) {
    await clipboard.writeText(text)
    return true
  }
  const { previousElementSibling: beside } = button
  if (beside !== null) getSelection()?.selectAllChildren(beside)
  return false
}
