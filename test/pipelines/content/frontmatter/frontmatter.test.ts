import { describe, expect, it } from 'vitest'
import { splitFrontmatter } from '../../../../pipelines/content/frontmatter/frontmatter.js'
import { ContentError } from '../../../../pipelines/content/page.js'

describe('TOML between lines of pluses', () => {
  it('is frontmatter, as of Hugo', () => {
    const { frontmatter, body } = splitFrontmatter(
      '+++\ntitle = "A \\"b\\""\nweight = 3\ntags = ["x", "y"]\ndraft = true\ndate = 2024-01-01\nlinkTitle = "Short"\n\n[build]\nlist = "never"\n+++\ntext\n',
    )
    expect(frontmatter).toMatchObject({ title: 'A "b"', order: 3, tags: ['x', 'y'], label: 'Short' })
    expect(frontmatter.visibility).toMatchObject({ isDraft: true, isUnlisted: true })
    // Line numbers stay those of the file.
    expect(body).toBe(`${'\n'.repeat(11)}text\n`)
  })

  it.each([
    ['+++\ntitle = "a"\nb = \n+++\n', 3, /^frontmatter: /],
    ['+++\ntitle = [1]\n+++\n', 2, /title must be a string/],
    ['+++\ntitle = "open"\n\ntext', 1, /not closed: a line \+\+\+ is missing/],
  ])('that is malformed is reported with its line: %j', (text, line, message) => {
    const thrown = (() => {
      try {
        splitFrontmatter(text)
      } catch (error) {
        return error
      }
      return undefined
    })()
    expect(thrown).toBeInstanceOf(ContentError)
    expect(thrown).toMatchObject({ line })
    expect((thrown as ContentError).message).toMatch(message)
  })

  it('is no frontmatter elsewhere', () => {
    for (const text of ['text\n+++\na = 1\n+++\n', '+++\n', '++++\na = 1\n++++\n'])
      expect(splitFrontmatter(text).body).toBe(text)
  })
})

describe('the order and the name of a page', () => {
  it.each([
    ['sidebar_position: 2\nsidebar_label: Short', 2, 'Short'],
    ['sidebar:\n  order: 4\n  label: Short', 4, 'Short'],
    ['weight: 5\nlinkTitle: Short', 5, 'Short'],
    ['nav_order: 6\nsidebarTitle: Short', 6, 'Short'],
    ['order: 1\nsidebar_position: 9', 1, undefined],
    ['sidebar_position: first\nsidebar_label: [x]', undefined, undefined],
  ])('are in %j', (fields, order, label) => {
    expect(splitFrontmatter(`---\n${fields}\n---\n`).frontmatter).toMatchObject({ order, label })
  })
})
