import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../harness/until.js'
import type { DocsOptions } from '../../../../services/docs/docs.js'
import { startBareDocs, type BareDocs } from '../bare-docs.js'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><style>path{fill:red}</style></svg>'
const INDEX =
  '---\ntitle: Spring\ndescription: Water & more.\n---\n\n![How it flows](img/flow%20a.svg)\n\n' +
  '[Begin](start.md) · [Code](https://example.org/?a=1&b=2)\n\nWords.\n\n![later](img/other.svg)\n\n## More\n'

describe('the front page', () => {
  let docs: BareDocs

  afterEach(async () => {
    await docs.close()
  })

  const start = async (index = INDEX, options: Partial<DocsOptions> = {}): Promise<void> => {
    docs = await startBareDocs(options, { 'index.md': index, 'start.md': '# Start\n' })
    await mkdir(join(docs.folder, 'img'))
    for (const name of ['flow a', 'other']) await writeFile(join(docs.folder, `img/${name}.svg`), SVG)
  }
  const page = async (path = '/'): Promise<string> => (await docs.get(path)).text()
  const pictureIn = (html: string): string | undefined =>
    /<section class="hero"[\s\S]*<img src="([^"]+)" alt="How it flows"/.exec(html)?.[1]

  it('has a hero: its title, its first links, and its picture, none of which its text repeats', async () => {
    await start()
    const html = await page()
    expect(pictureIn(html)).toMatch(/^\/_files\/img\/flow%20a\.svg\?v=[\w-]{8}$/)
    expect(html).toContain(
      '<p class="start"><a href="/start">Begin</a><a href="https://example.org/?a=1&amp;b=2">Code</a></p>',
    )
    expect(html.match(/<h1/g)).toHaveLength(1)
    expect(html.match(/Begin</g)).toHaveLength(1)
    expect(html.match(/How it flows/g)).toHaveLength(1)
    expect(html).toMatch(/<div class="prose"><p>Words\.<\/p>\n<p><em>later/)
    expect(await page('/start')).not.toContain('class="hero"')
  })

  it('shows its picture, which has a policy without scripts, and no other file of the folder', async () => {
    await start()
    const url = pictureIn(await page()) ?? ''
    const picture = await docs.get(url)
    expect(await picture.text()).toBe(SVG)
    expect(picture.headers.get('content-type')).toBe('image/svg+xml')
    expect(picture.headers.get('cache-control')).toContain('immutable')
    expect(picture.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*sandbox/)
    expect((await docs.get('/_files/img/flow%20a.svg')).headers.get('cache-control')).toBe('no-cache')
    for (const path of [
      'img/other.svg',
      'start.md',
      'index.md',
      '../img/flow%20a.svg',
      'img%2Fflow%20a.svg',
      '',
    ])
      expect((await docs.get(`/_files/${path}`)).status, path).toBe(404)
    await writeFile(join(docs.folder, 'img/flow a.svg'), SVG.replace('red', 'blue'))
    expect(pictureIn(await page())).not.toBe(url)
  })

  it('has none if its picture is no picture inside the folder', async () => {
    await start()
    await writeFile(join(docs.folder, '../secret.svg'), SVG)
    await writeFile(join(docs.folder, 'img/.hidden.svg'), SVG)
    await symlink(join(docs.folder, '../secret.svg'), join(docs.folder, 'img/link.svg'))
    for (const src of [
      '/etc/hostname.svg',
      '../secret.svg',
      'img/link.svg',
      'img/.hidden.svg',
      'img/none.svg',
      'start.md',
      '//evil.example/x.svg',
    ]) {
      await docs.write('index.md', `${INDEX.replace('img/flow%20a.svg', src)}\nWith ${src}.\n`)
      const html = await until('it is read', async () => {
        const text = await page()
        return text.includes(`With ${src}.`) && text
      })
      expect(html, src).toContain('class="hero"')
      expect(html, src).not.toMatch(/<img/)
    }
    await rm(join(docs.folder, '../secret.svg'))
  })

  it('has a hero of its title alone if its text begins with something else; links in it keep their place', async () => {
    await start('# Spring\n\nWords.\n\n[Begin](start.md)\n')
    const html = await page()
    expect(html).toMatch(/<h1 id="spring">Spring<\/h1>/)
    expect(html).not.toContain('class="start"')
    expect(html).toContain('<p><a href="/start">Begin</a></p>')
    await docs.write('index.md', '# Spring\n\n[Begin](start.md)\n\n[Bad](javascript:alert(1))\n')
    await until('it has links', async () => (await page()).includes('<p class="start"><a href="/start">'))
    expect(await page()).not.toContain('javascript:')
  })
})

describe('every page', () => {
  const read = async (options: Partial<DocsOptions>, path: string): Promise<string> => {
    const docs = await startBareDocs(options)
    try {
      return await (await docs.get(path)).text()
    } finally {
      await docs.close()
    }
  }

  it('has the tags of Open Graph, and a page that does not exist has none', async () => {
    const html = await read({ siteUrl: 'https://docs.example' }, '/guide/blocks%20%26%20more')
    for (const [name, content] of [
      ['og:type', 'article'],
      ['og:site_name', 'Headwater'],
      ['og:title', 'Blocks &amp; &quot;more&quot;'],
      ['og:description', 'All of &lt;them&gt;'],
      ['og:url', 'https://docs.example/guide/blocks%20%26%20more'],
    ])
      expect(html).toContain(`<meta property="${name}" content="${content}" />`)
    expect(html).toMatch(/og:image" content="https:\/\/docs\.example\/_docs\/apple-touch-icon\.png\?v=/)
    expect(html).toContain('<meta name="twitter:card" content="summary" />')
    expect(await read({}, '/nowhere')).not.toContain('og:')
  })

  it('has the name and logo of SITE_NAME and SITE_LOGO, and nothing of Headwater', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-logo-'))
    const siteLogo = join(folder, 'Our Logo.PNG')
    await writeFile(siteLogo, 'picture')
    const docs = await startBareDocs({ siteName: 'Ours & yours', siteLogo })
    const html = await (await docs.get('/guide/start')).text()
    expect(html).toContain('<title>Getting started · Ours &amp; yours</title>')
    const [, logo = ''] =
      /<a class="brand" href="\/"\n><img src="([^"]+)" alt="" \/><span>Ours &amp; yours</.exec(html) ?? []
    expect(html).toContain(`<link rel="icon" href="${logo}" />`)
    expect(html).toContain(`<meta property="og:image" content="${docs.url}${logo}" />`)
    const answer = await docs.get(logo)
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual(['image/png', 'picture'])
    await docs.close()
    const named = await read({ siteName: 'Ours' }, '/guide/start')
    expect(named).not.toMatch(/rel="icon"|og:image|<a class="brand" href="\/"\n><(?:svg|img)/)
    await expect(startBareDocs({ siteLogo: join(folder, 'none.svg') })).rejects.toThrow(
      /SITE_LOGO cannot be read/,
    )
    await expect(startBareDocs({ siteLogo: join(folder, 'a.exe') })).rejects.toThrow(
      /must be an SVG, PNG or WebP/,
    )
    await rm(folder, { recursive: true })
  })

  it('links to the explorer only if EXPLORER_URL is set, or if npm start runs one', async () => {
    expect(await read({}, '/')).not.toContain('Explorer')
    expect(await read({ explorerUrl: 'https://x.example/' }, '/')).toContain(
      '<a class="site" href="https://x.example/">Explorer</a>',
    )
    expect(await read({ explorerPort: 8080 }, '/')).toMatch(
      /<a class="site" href="http:\/\/127\.0\.0\.1:8080\/">/,
    )
    expect(await read({ explorerPort: 8080, siteUrl: 'https://docs.example' }, '/')).not.toContain('Explorer')
  })
})
