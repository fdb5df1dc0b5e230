import { describe, expect, it } from 'vitest'
import { sourceOf, type Passage } from './passages.js'
import { files, text as contents } from './tree.js'
import { RIDDLE, TERMS, VERB, type Pattern, type Term } from './vocabulary.js'

/** The frozen baseline stays as it is, packages and licences have words of their own, and the rules name the terms. */
const UNCHECKED =
  /^(bench\/baseline\/|test\/tidy\/|package-lock\.json$|LICENSE$|test\/content\/)|\.lock\.json$/

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

/** Returns the beginnings of docstrings that a rule refuses. */
function refused(
  paths: RegExp,
  kind: 'docstrings' | 'functions',
  isRefused: (docstring: string) => boolean,
): string[] {
  return [...sources]
    .filter(([path]) => paths.test(path))
    .flatMap(([path, source]) =>
      source[kind]
        .filter(({ text }) => isRefused(text))
        .map(({ line, text }) => `${path}:${String(line)}: ${text.slice(0, 40)}`),
    )
}

describe('docstrings', () => {
  it('are recognised', () => {
    const { docstrings, functions } = sourceOf(
      'sample.ts',
      '/** Of the tip. */\nexport function height(): number\n\n/** The tip. */\nlet tip: Block\n',
    )
    expect(functions).toEqual([{ line: 1, text: 'Of the tip.' }])
    expect(docstrings).toEqual([...functions, { line: 4, text: 'The tip.' }])
    for (const wrong of ['Of the tip.', 'The height of the tip.', 'As a node.', 'height of the tip'])
      expect(wrong).not.toMatch(VERB)
    expect('Returns the height of the tip.').toMatch(VERB)
    expect('Whether it is open.').toMatch(RIDDLE)
    expect('True while the block is open.').not.toMatch(RIDDLE)
  })

  it('of functions begin with a verb', () => {
    const wrong = refused(/^(services|pipelines)\//, 'functions', (text) => !VERB.test(text))
    expect(wrong, 'begin with a verb in the third person and its object: "Returns the newest head"').toEqual(
      [],
    )
  })

  it('name their subject', () => {
    const wrong = refused(/^(services|pipelines|deploy|test|bench)\//, 'docstrings', (text) =>
      RIDDLE.test(text),
    )
    expect(wrong, 'write a noun phrase or a sentence: "Height of the block"').toEqual([])
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
