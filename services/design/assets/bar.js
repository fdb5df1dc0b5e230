/** Switches to the other theme at a click on the button of the bar, and stores the choice. */
export function startTheme() {
  document.querySelector('.bar .theme').addEventListener('click', () => {
    const { dataset } = document.documentElement
    const isDark =
      dataset.theme === 'dark' || (!dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches)
    dataset.theme = isDark ? 'light' : 'dark'
    localStorage.setItem('theme', dataset.theme)
  })
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
