/** A paragraph, list, table or code block. */
export interface MarkdownBlock {
  readonly text: string
  readonly code: boolean
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/

/**
 * Returns the blocks of processed Markdown, which are separated by empty lines; fenced code is one block. A full parser finds
 * nothing else that matters here, and takes a hundred times as long.
 */
export function blocks(markdown: string): MarkdownBlock[] {
  const result: MarkdownBlock[] = []
  let lines: string[] = []
  let fence: string | undefined
  const end = (code: boolean): void => {
    const text = lines.join('\n').trimEnd()
    if (text.trim() !== '') result.push({ text, code })
    lines = []
  }
  for (const line of markdown.split('\n')) {
    const marker = FENCE.exec(line)?.[1]
    if (fence !== undefined) {
      lines.push(line)
      if (marker?.startsWith(fence) === true && line.trim() === marker) {
        end(true)
        fence = undefined
      }
    } else if (marker !== undefined) {
      end(false)
      fence = marker
      lines.push(line)
    } else if (line.trim() === '') end(false)
    else lines.push(line)
  }
  end(fence !== undefined)
  return result
}

/** Returns the plain text of a block, without the markup of emphasis, links, lists, quotes, tables and fences. */
export function plain({ text, code }: MarkdownBlock): string {
  if (code) return text.replace(/^.*\n/, '').replace(/\n?[ \t]*(`{3,}|~{3,})[ \t]*$/, '')
  return text
    .replace(/^\s*\|?[\s:|-]*-{2,}[\s:|-]*$/gm, '')
    .replace(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+"[^"]*")?\)/g, '$1')
    .replace(/^\s*(?:[-*+]|\d+[.)]|>|#{1,6})\s+/gm, '')
    .replace(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
    .replace(/(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])/g, '$1')
    .replace(/`+([^`]+)`+/g, '$1')
    .replace(/^\s*\|(.*?)\|?\s*$/gm, (_, row: string) => row.split('|').join(' · '))
    .replace(/\\([\\`*_{}[\]()#+\-.!|<>~])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
}
