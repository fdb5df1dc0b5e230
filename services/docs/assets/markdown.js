/** The URLs of the sources of the answer, of which `[1]` cites the first. */
let cited = []

/** Renders the Markdown of answers. Elements are created one by one: no text is ever parsed as HTML. */
export function showMarkdown(element, text, sources) {
  cited = sources.map(({ url }) => url)
  element.replaceChildren(...blocks(text.split('\n')))
}

const make = (name, ...children) => {
  const element = document.createElement(name)
  element.append(...children)
  return element
}

const STARTS = /^(```|~~~|\||#{1,6} |> ?|\s*[-*] |\s*\d+[.)] )/

function blocks(lines) {
  const made = []
  while (lines.length > 0) {
    const line = lines[0]
    if (line.trim() === '') lines.shift()
    else if (/^(```|~~~)/.test(line)) made.push(code(lines))
    else if (/^#{1,6} /.test(line))
      made.push(make('p', make('strong', ...inline(lines.shift().replace(/^#+ /, '')))))
    else if (line.startsWith('|')) made.push(make('pre', take(lines, /^\|/).join('\n')))
    else if (/^>/.test(line))
      made.push(make('blockquote', ...blocks(take(lines, /^>/).map((each) => each.replace(/^> ?/, '')))))
    else if (/^\s*[-*] /.test(line)) made.push(items('ul', lines, /^\s*[-*] /))
    else if (/^\s*\d+[.)] /.test(line)) made.push(items('ol', lines, /^\s*\d+[.)] /))
    else {
      const paragraph = [lines.shift()]
      while (lines.length > 0 && lines[0].trim() !== '' && !STARTS.test(lines[0]))
        paragraph.push(lines.shift())
      made.push(make('p', ...inline(paragraph.join(' '))))
    }
  }
  return made
}

function take(lines, pattern) {
  const taken = []
  while (lines.length > 0 && pattern.test(lines[0])) taken.push(lines.shift())
  return taken
}

function code(lines) {
  const fence = lines.shift().slice(0, 3)
  const taken = []
  while (lines.length > 0 && !lines[0].startsWith(fence)) taken.push(lines.shift())
  lines.shift()
  const pre = make('pre', make('code', taken.join('\n')))
  pre.tabIndex = 0
  return pre
}

function items(name, lines, pattern) {
  return make(name, ...take(lines, pattern).map((line) => make('li', ...inline(line.replace(pattern, '')))))
}

const INLINE = /(\[(?:\\.|[^\]\\])+\]\([^)\s]*\)|\[\d{1,2}\]|`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/

function inline(text) {
  return text.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith('`')) return make('code', part.slice(1, -1))
    if (part.startsWith('**')) return make('strong', ...inline(part.slice(2, -2)))
    if (part.startsWith('*')) return make('em', part.slice(1, -1))
    const [, number] = /^\[(\d+)\]$/.exec(part) ?? []
    if (number !== undefined) return citation(part, cited[number - 1])
    const [, label, url] = /^\[(.+)\]\((.*)\)$/.exec(part)
    // Relative links of a page would resolve differently here, and other schemes must not be opened.
    if (!/^(https?:\/\/|\/|#)/.test(url)) return make('span', ...inline(unescaped(label)))
    const link = make('a', ...inline(unescaped(label)))
    link.href = url
    link.rel = 'noopener noreferrer'
    return link
  })
}

const unescaped = (label) => label.replace(/\\([[\]\\])/g, '$1')

/** Returns the number of a source as a link to its section. */
function citation(text, url) {
  if (url === undefined) return text
  const link = make('a', text)
  link.className = 'cite'
  link.href = url
  return link
}
