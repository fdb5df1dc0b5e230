import { describe, expect, it } from 'vitest'
import { startBareDocs } from './bare-docs.js'

describe('a malicious page', () => {
  it('puts no script into its HTML, nor into that of others', async () => {
    const evil = [
      '---',
      'title: "</title><script>alert(1)</script>"',
      'description: "\\"><img src=x onerror=alert(1)>"',
      '---',
      '<script>alert(1)</script>',
      '',
      '<img src="x" onerror="alert(1)">',
      '',
      '<a href="javascript:alert(1)">a</a> [b](javascript:alert(1)) [c](data:text/html,<script>alert(1)</script>)',
      '',
      '<iframe src="https://evil.example"></iframe><style>body{display:none}</style><form action="https://evil.example"><input></form>',
      '',
      '<svg onload="alert(1)"><use href="#x"/></svg>',
      '',
      '![tracker](https://evil.example/x.png)',
      '',
      '## <b onclick="alert(1)">x</b> [#"onmouseover="alert(1)]',
      '',
      '```"><script>alert(1)</script>',
      'code',
      '```',
    ].join('\n')
    const own = await startBareDocs({}, { 'evil "><script>alert(1)<.md': evil, 'index.md': '# Home' })
    const { pages } = await (await own.get('/api/docs')).json()
    expect(pages).toHaveLength(2)
    for (const { url } of pages) {
      const html = await (await own.get(url)).text()
      const shown = html.replace(/<script src="\/_docs\/[^"]*"( type="module")?><\/script>/g, '')
      expect(shown).not.toMatch(
        /<script|<iframe|<style|<form(?! method="dialog"|>\n)|<img|javascript:|href="data:/i,
      )
      expect(shown.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\son[a-z]+=/i)
    }
    await own.close()
  })
})
