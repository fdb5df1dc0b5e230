const PAUSE_MS = 120
const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

/**
 * Starts the search as you type; arrow keys select, Enter opens.
 * @param ownAnswer returns the answer to a query that must not be sent, and undefined for others.
 */
export function startSearch(dialog, ownAnswer) {
  const input = dialog.querySelector('input')
  const list = dialog.querySelector('ul')
  const status = dialog.querySelector('.note')
  let timer
  let request = new AbortController()

  const { endpoint, hint, nothing, results } = dialog.dataset

  const say = (text) => (status.textContent = text)
  const select = (item) => {
    for (const other of list.children) other.setAttribute('aria-selected', String(other === item))
    if (item === undefined) input.removeAttribute('aria-activedescendant')
    else {
      input.setAttribute('aria-activedescendant', item.id)
      item.scrollIntoView({ block: 'nearest' })
    }
  }
  const selected = () => list.querySelector('[aria-selected="true"]')

  /** Shows an answer: an array of results, one of which may be a note about the query. */
  const show = (answer) => {
    const items = answer.filter(({ type }) => type !== 'note')
    const note = answer.find(({ type }) => type === 'note')
    list.replaceChildren(...items.map(row))
    input.setAttribute('aria-expanded', String(items.length > 0))
    select(list.children[0])
    const found = items.filter(({ type }) => type === 'page').length
    say(note?.content ?? (found === 0 ? nothing : `${String(found)} ${results}`))
  }

  const ask = async () => {
    request.abort()
    request = new AbortController()
    const { signal } = request
    const query = input.value.trim()
    if (query === '') {
      list.replaceChildren()
      input.setAttribute('aria-expanded', 'false')
      say(hint)
      return
    }
    const own = ownAnswer?.(query)
    if (own !== undefined) {
      show(own)
      return
    }
    try {
      const response = await fetch(endpoint + encodeURIComponent(query), { signal })
      const answer = await response.json()
      if (signal.aborted) return
      // The service is starting, or overloaded: it says when it can answer.
      if (response.status === 503)
        timer = setTimeout(ask, 1000 * (Number(response.headers.get('retry-after')) || 1))
      if (!response.ok) throw new Error(answer.error)
      show(answer)
    } catch (error) {
      if (!signal.aborted) say(error.message)
    }
  }

  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(ask, PAUSE_MS)
  })
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const items = [...list.children]
    if (step !== undefined && items.length > 0) {
      event.preventDefault()
      select(items[(items.indexOf(selected()) + step + items.length) % items.length])
    }
    // In a search field the first Escape would only clear it.
    if (event.key === 'Escape') dialog.close()
    if (event.key === 'Enter') {
      event.preventDefault()
      selected()?.querySelector('a').click()
    }
  })
  list.addEventListener('mousemove', (event) => {
    const item = event.target.closest('li')
    if (item !== null && item !== selected()) select(item)
  })
  // A hit on the current page loads no document, so the dialog must be closed explicitly.
  list.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  const open = () => {
    if (!dialog.open) dialog.showModal()
    input.select()
  }
  return { open }
}

function row({ type, url, content, breadcrumbs }, index) {
  const item = document.createElement('li')
  item.className = `hit ${type}`
  item.id = `:hit-${String(index)}`
  item.setAttribute('role', 'option')
  const link = document.createElement('a')
  link.href = url
  link.tabIndex = -1
  if (type === 'page' && breadcrumbs !== undefined) {
    const above = document.createElement('small')
    above.textContent = breadcrumbs.join(' › ')
    link.append(above)
  }
  link.append(...marked(content))
  item.append(link)
  return item
}

/** Returns the text of a result, with matches in marks. It is never parsed as HTML. */
function marked(content) {
  return content.split(/<\/?mark>/).map((part, index) => {
    const text = part.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity])
    if (index % 2 === 0) return text
    const mark = document.createElement('mark')
    mark.textContent = text
    return mark
  })
}
