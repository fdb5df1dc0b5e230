import { startSearchKeys, startTheme } from './bar.js'
import { startChat } from './chat.js'
import { startSearch } from './search.js'

const $ = (selector) => document.querySelector(selector)

startTheme()
startMenu()
startCopy()
startContents()
startCode()
startTarget()
const search = startSearch($('dialog.search'))
const chat = startChat($('.chat'), $('.bar .ask'))
startSearchKeys(search)
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  if ($('.open[open]') !== null) $('.open').open = false
  else if ($('.pages.shown') !== null) $('.bar .menu').click()
  else chat.close()
})

function startMenu() {
  const menu = $('.bar .menu')
  menu.addEventListener('click', () => {
    const isShown = $('.pages').classList.toggle('shown')
    menu.setAttribute('aria-expanded', String(isShown))
  })
  const current = $('.pages [aria-current]')
  if (current !== null) $('.pages').scrollTop = current.offsetTop - 200
}

function startCopy() {
  const button = $('.copy')
  if (button === null) return
  const label = button.querySelector('span')
  const initial = label.textContent
  let timer
  button.addEventListener('click', async () => {
    let status = 'Copied'
    try {
      const response = await fetch(button.dataset.markdown)
      if (!response.ok) throw new Error('no Markdown')
      await navigator.clipboard.writeText(await response.text())
    } catch {
      status = 'Copying failed'
    }
    label.textContent = status
    clearTimeout(timer)
    timer = setTimeout(() => (label.textContent = initial), 2000)
  })
  document.addEventListener('click', (event) => {
    const open = $('.open[open]')
    if (open !== null && !open.contains(event.target)) open.open = false
  })
}

/** Marks the current section in the table of contents. */
function startContents() {
  const links = [...document.querySelectorAll('.toc a')]
  const byId = new Map(links.map((link) => [decodeURIComponent(link.hash.slice(1)), link]))
  const headings = [...byId.keys()].map((id) => document.getElementById(id)).filter(Boolean)
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 140)
    const current = passed.at(-1) ?? headings[0]
    for (const link of links) link.removeAttribute('aria-current')
    if (current !== undefined) byId.get(current.id).setAttribute('aria-current', 'true')
  }
  const observer = new IntersectionObserver(mark, { rootMargin: '-120px 0px -60% 0px' })
  for (const heading of headings) observer.observe(heading)
  mark()
}

/** Makes the buttons of code blocks copy their code. */
function startCode() {
  for (const button of document.querySelectorAll('.code button')) {
    const label = button.firstElementChild
    let timer
    button.addEventListener('click', async () => {
      const code = button.closest('.code').querySelector('pre').textContent.replace(/\n$/, '')
      try {
        await navigator.clipboard.writeText(code)
        label.textContent = 'Copied'
      } catch {
        label.textContent = 'Copying failed'
      }
      clearTimeout(timer)
      timer = setTimeout(() => (label.textContent = 'Copy'), 2000)
    })
  }
}

/** Opens the tab that contains the heading of the address. */
function startTarget() {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    for (let panel = target?.closest('.panel'); panel; panel = panel.parentElement.closest('.panel'))
      panel.previousElementSibling.previousElementSibling.checked = true
    if (target?.closest('.panel')) target.scrollIntoView()
  }
  addEventListener('hashchange', open)
  open()
}
