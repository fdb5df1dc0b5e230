import { describe, expect, it } from 'vitest'
import { sourceOf, type Passage } from './passages.js'
import { files, text as contents } from './tree.js'
import { NO_VERB, TERMS, type Pattern, type Term } from './vocabulary.js'

/** Released migrations stay as they are, packages and licences have words of their own, and the rules name the terms. */
const UNCHECKED =
  /^(pipelines\/tables\/migrations\/|test\/tidy\/|package-lock\.json$|LICENSE$|test\/content\/)|\.lock\.json$/

const sources = new Map(
  files
    .filter((path) => !UNCHECKED.test(path))
    .map((path) => [path, sourceOf(path, contents.get(path) ?? '')] as const),
)

/** Returns "line: term" for every passage that contains a term. */
function found(passages: readonly Passage[], rule: Pattern | undefined, { allowed = [] }: Term): string[] {
  return passages.flatMap(({ line, text }) => {
    const rest = allowed.reduce((left, each) => left.replaceAll(each, ''), text)
    const [term] = rule?.pattern.exec(rest) ?? []
    return term === undefined ? [] : [`${String(line)}: "${term}"`]
  })
}

function hits(term: Term): string[] {
  return [...sources]
    .filter(([path]) => term.except?.test(path) !== true)
    .flatMap(([path, { prose, names }]) =>
      [...found(prose, term.prose, term), ...found(names, term.names, term)].map((hit) => `${path}:${hit}`),
    )
}

describe('the vocabulary', () => {
  it.each(TERMS)('has rules that find their term: $instead', (term) => {
    const { prose, names } = term
    const inDocument = (sample: string): readonly Passage[] => sourceOf('sample.md', sample).prose
    const inCode = (sample: string): readonly Passage[] => sourceOf('sample.ts', sample).names
    if (prose !== undefined) expect(found(inDocument(prose.found), prose, term)).not.toEqual([])
    if (prose !== undefined) expect(found(inDocument(prose.passed), prose, term)).toEqual([])
    if (names !== undefined) expect(found(inCode(names.found), names, term)).not.toEqual([])
    if (names !== undefined) expect(found(inCode(names.passed), names, term)).toEqual([])
  })

  it.each(TERMS)('is used everywhere: $instead', (term) => {
    expect(hits(term), `write instead: ${term.instead}`).toEqual([])
  })
})

describe('docstrings of functions', () => {
  it('are recognised', () => {
    const source = (doc: string): string => `/** ${doc} */\nexport function height(): number`
    const starts = (doc: string): readonly Passage[] => sourceOf('height.ts', source(doc)).docstrings
    expect(starts('Of the tip.')).toEqual([{ line: 1, text: 'Of the tip.' }])
    expect('Of the tip.').toMatch(NO_VERB)
    expect('Returns the height of the tip.').not.toMatch(NO_VERB)
  })

  it('begin with a verb', () => {
    const wrong = [...sources]
      .filter(([path]) => /^(services|pipelines)\//.test(path))
      .flatMap(([path, { docstrings }]) =>
        docstrings
          .filter((docstring) => NO_VERB.test(docstring.text))
          .map((docstring) => `${path}:${String(docstring.line)}: ${docstring.text.slice(0, 40)}`),
      )
    expect(wrong, 'begin with a verb in the third person and its object: "Returns the newest head"').toEqual(
      [],
    )
  })
})

describe('passages', () => {
  it('are comments, string literals and names, each with its line', () => {
    const { prose, names } = sourceOf(
      'sample.ts',
      '// One text\n// on two lines.\nconst laidAside = `from ${here} to`\n/** A doc\n * string. */\n',
    )
    expect(prose.map((each) => `${String(each.line)} ${each.text}`)).toEqual([
      '3 from ',
      '3  to',
      '1 One text on two lines.',
      '4 A doc string.',
    ])
    expect(names.map((each) => each.text)).toEqual(['laid aside', 'here'])
  })

  it('are the paragraphs of a document', () => {
    expect(sourceOf('sample.md', 'One\ntwo.\n\nThree.\n').prose).toEqual([
      { line: 1, text: 'One two.' },
      { line: 4, text: 'Three.' },
    ])
  })
})
