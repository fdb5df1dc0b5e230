/** Makes a click on the button of the bar choose the next theme: the one that is not shown, the other one, and that of the system. */
export function startTheme() {
  const button = document.querySelector('.bar .theme')
  const { dataset } = document.documentElement
  const show = () => {
    const label = `${button.dataset.name}: ${button.dataset[dataset.theme ?? 'system']}`
    button.setAttribute('aria-label', label)
    button.title = label
  }
  button.addEventListener('click', () => {
    const [system, other] = matchMedia('(prefers-color-scheme: dark)').matches
      ? ['dark', 'light']
      : ['light', 'dark']
    if (dataset.theme === undefined) dataset.theme = other
    else if (dataset.theme === other) dataset.theme = system
    else delete dataset.theme
    if (dataset.theme === undefined) localStorage.removeItem('theme')
    else localStorage.setItem('theme', dataset.theme)
    show()
  })
  show()
}

/** Opens the search at a click on the button of the bar, and by the keys / and Control+K. */
export function startSearchKeys({ open }) {
  document.querySelector('.bar .find').addEventListener('click', open)
  document.addEventListener('keydown', (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)
    const isSlash = event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey
    const isCommand = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
    if (!isSlash && !isCommand) return
    event.preventDefault()
    open()
  })
}
