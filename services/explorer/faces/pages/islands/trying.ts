/** Shows the answers of the forms of the API page below them; without a script they are opened. */
export function startTrying(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form.try'))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void show(form)
    })
}

async function show(form: HTMLFormElement): Promise<void> {
  const output = form.nextElementSibling
  if (output === null) return
  const began = performance.now()
  try {
    const response = await request(form)
    const text = await response.text()
    const { pathname, search } = new URL(response.url)
    const ms = (performance.now() - began).toFixed(0)
    const block = document.createElement('pre')
    block.tabIndex = 0
    block.textContent = indented(text)
    const line = document.createElement('p')
    const status = document.createElement('strong')
    status.textContent = String(response.status)
    const link = document.createElement('a')
    link.href = pathname + search
    link.textContent = pathname + search
    line.append(status, ' ', link, ` ${ms} ms`)
    output.replaceChildren(line, block)
  } catch (error) {
    output.textContent = String(error)
  }
}

function request(form: HTMLFormElement): Promise<Response> {
  const fields = [...new FormData(form)].filter(
    (field): field is [string, string] => typeof field[1] === 'string',
  )
  const { post } = form.dataset
  if (post === undefined) return fetch(`${form.action}?${new URLSearchParams(fields).toString()}`)
  const headers = { 'content-type': 'application/json' }
  return fetch(post, { method: 'POST', headers, body: fields[0]?.[1] ?? '' })
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
