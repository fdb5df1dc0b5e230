import { showMarkdown } from './markdown.js'

const MAX_MESSAGES = 20

/** Starts the assistant: a streamed conversation, with the sources of its answers. */
export function startChat(panel, button) {
  const log = panel.querySelector('.messages')
  const hint = log.firstElementChild
  const form = panel.querySelector('form')
  const input = form.querySelector('textarea')
  const send = form.querySelector('button')
  let messages = []
  let request = new AbortController()

  const open = () => {
    panel.hidden = false
    button.setAttribute('aria-expanded', 'true')
    input.focus()
  }
  const close = () => {
    if (panel.hidden) return
    panel.hidden = true
    button.setAttribute('aria-expanded', 'false')
    button.focus()
  }
  const clear = () => {
    request.abort()
    messages = []
    hint.hidden = false
    log.replaceChildren(hint)
    input.focus()
  }

  const ask = async (text) => {
    request.abort()
    request = new AbortController()
    const { signal } = request
    // The server accepts twenty messages; the oldest are dropped in pairs, so that the user's stays first.
    messages = [...messages, { role: 'user', parts: [{ type: 'text', text }] }].slice(-MAX_MESSAGES + 1)
    const question = block('mine', text)
    const answer = block('theirs waiting', '')
    hint.hidden = true
    log.append(question, answer)
    const keepInView = follow(log, question)
    keepInView()
    send.disabled = true
    try {
      const full = await stream(messages, signal, (soFar, sources, isWhole) => {
        answer.classList.remove('waiting')
        showMarkdown(answer, soFar, sources)
        if (isWhole && sources.length > 0) answer.append(sourceList(sources))
        keepInView()
      })
      messages.push({ role: 'assistant', parts: [{ type: 'text', text: full }] })
    } catch (error) {
      answer.classList.remove('waiting')
      if (signal.aborted) return
      answer.classList.add('failed')
      answer.append(block('', error.message))
      messages.pop()
    } finally {
      send.disabled = false
    }
  }

  button.addEventListener('click', () => (panel.hidden ? open() : close()))
  panel.querySelector('.close').addEventListener('click', close)
  panel.querySelector('.again').addEventListener('click', clear)
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const text = input.value.trim()
    if (text === '' || send.disabled) return
    input.value = ''
    void ask(text)
  })
  hint.addEventListener('click', ({ target }) => {
    if (target.tagName !== 'BUTTON') return
    void ask(target.textContent)
    input.focus()
  })
  return { close }
}

/** Returns a function that scrolls a question to the top, so that its answer begins below it; not after the reader has scrolled. */
function follow(log, question) {
  let at
  return () => {
    if (at !== undefined && Math.abs(log.scrollTop - at) > 1) return
    log.scrollTop = question.offsetTop - log.offsetTop - 12
    at = log.scrollTop
  }
}

/** Posts the conversation and passes on each part of the answer. Resolves with the complete answer. */
async function stream(messages, signal, onText) {
  const response = await fetch('/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages, lang: document.documentElement.dataset.lang }),
    signal,
  })
  if (!response.ok) throw new Error(failure(response.status, await response.json()))
  const sources = []
  let text = ''
  for await (const event of events(response.body)) {
    if (event.type === 'source-url') sources.push(event)
    if (event.type === 'text-delta') text += event.delta
    if (event.type === 'error') throw new Error(event.errorText)
    if (event.type === 'text-delta' || event.type === 'finish') onText(text, sources, event.type === 'finish')
  }
  return text
}

function failure(status, { error, retry_after_ms: waitMs }) {
  return status === 429 ? `${error}: try again in ${String(Math.ceil(waitMs / 1000))} s.` : `${error}.`
}

/** Yields the data of server-sent events. */
async function* events(body) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest += decoder.decode(value, { stream: true })
    const whole = rest.split('\n\n')
    rest = whole.pop()
    for (const event of whole) {
      const data = event.replace(/^data: /, '')
      if (data.startsWith('{')) yield JSON.parse(data)
    }
  }
}

function block(name, text) {
  const element = document.createElement('div')
  element.className = name
  element.textContent = text
  return element
}

function sourceList(sources) {
  const list = document.createElement('ol')
  list.className = 'sources'
  for (const { url, title } of sources) {
    const link = document.createElement('a')
    link.href = url
    link.textContent = title
    const item = document.createElement('li')
    item.append(link)
    list.append(item)
  }
  return list
}
