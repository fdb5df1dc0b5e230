import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { type Language, LANGUAGES, MESSAGES } from '../../../../../services/explorer/faces/pages/language.js'

const OTHERS = LANGUAGES.filter((language) => language !== 'en')
const PAGES = 'services/explorer/faces/pages'

type Words = string | ((...given: never[]) => string)

/** Arguments that are not a text, by the path of the words. All others are numbers as they are shown, each another one. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  'search.otherChain': [['7001', '7002'], '7003', ['7004', '7005']],
  'search.unknownChain': ['7001', ['7002', '7003']],
  'errors.badChoice': ['7001', ['7002', '7003']],
}
const FIGURES = { indexed: '7001', node: '7002', differences: '7003' }

/** Returns words with sample arguments. */
function written(path: string, words: Words): string {
  if (typeof words === 'string') return words
  const texts = path.startsWith('condition.troubles.') ? [FIGURES] : ['7001', '7002', '7003']
  return words(...((ARGUMENTS[path] ?? texts) as never[]))
}

/** Returns the texts of a language by their paths, such as `tx.title`. */
function textsOf(language: Language): Map<string, string> {
  const found = new Map<string, string>()
  const collect = (within: object, path: string): void => {
    for (const [name, value] of Object.entries(within) as [string, Words | object][])
      if (typeof value === 'object') collect(value, `${path}${name}.`)
      else found.set(path + name, written(path + name, value))
  }
  collect(MESSAGES[language], '')
  return found
}

const TEXTS = new Map(LANGUAGES.map((language) => [language, textsOf(language)]))
const english = TEXTS.get('en')!

/** The texts of a language that are not exactly as they should be, by their paths. */
const wrongIn = (language: Language, isWrong: (text: string, path: string) => boolean): [string, string][] =>
  [...TEXTS.get(language)!].filter(([path, each]) => isWrong(each, path))

/** Returns what a text leaves for figures and elements, sorted. */
const places = (of: string): string[] => (of.match(/700\d|\{\w+\}/g) ?? []).sort()

/** Names, symbols and terms of the protocol, which no language translates. */
const NAMES =
  /\b(?:API|Atom|Coinbase|CSV|Dilithium2?|Headwater|JSON|OP_RETURN|WU|v?B|UTC|Hashrate|Locktime|Mempool|Multisig|Nonce|Bits|Hash|Script|(?:Redeem|Witness) script|sighash)\b/gi

/** Words that a language has in common with English. */
const IN_COMMON: Readonly<Partial<Record<Language, readonly string[]>>> = {
  de: 'Block,Index,Reorganisation,Live,Miner,Mining,Port,Post-Quantum,Sequence,Version,Wallet,Website,Feed,in Block,live'.split(
    ',',
  ),
  es: 'Error,Feed,Hexadecimal,Total,bytes,hexadecimal,no'.split(','),
  fr: 'Confirmations,Date,Documentation,Index,Maximum,Menu,Page,Pages,Port,Total,Transaction,Transactions,Type,Version,confirmations,transactions'.split(
    ',',
  ),
  pt: 'Feed,Hexadecimal,Menu,Total,bytes,hexadecimal'.split(','),
}

/** Returns the Han characters of an encoding of two bytes. */
function hanOf(encoding: string, leads: readonly [number, number], firstTrail: number): Set<string> {
  const decoder = new TextDecoder(encoding)
  const characters = new Set<string>()
  for (let [lead, last] = leads; lead <= last; lead++)
    for (let trail = firstTrail; trail <= 0xfe; trail++)
      characters.add(decoder.decode(Uint8Array.of(lead, trail)))
  return characters
}

/** The Han characters that a language has: those of JIS X 0208, and the simplified ones of GB 2312. */
const HAN: Readonly<Partial<Record<Language, Set<string>>>> = {
  ja: hanOf('shift_jis', [0x88, 0xea], 0x40),
  zh: hanOf('gbk', [0xb0, 0xf7], 0xa1),
}
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u

/** Returns whether a text has letters of another script than its language. */
function isForeign(language: Language, of: string): boolean {
  const han = HAN[language]
  if (han === undefined) return /(?!\p{Script=Latin})\p{L}/u.test(of)
  if (language === 'zh' && KANA.test(of)) return true
  return of.match(/\p{Script=Han}/gu)?.some((each) => !han.has(each)) === true
}

/** Signs that a language writes in another way. */
const MISTYPED: Readonly<Partial<Record<Language, RegExp>>> = {
  // A line must not begin with the sign.
  fr: / [:;?!»]|« |\p{L}'/u,
  es: /^[^¿]*\?/,
  ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}][,.!?()]|[，；]/u,
  zh: /\p{Script=Han}[,.!?;()]|[｡､]/u,
}

describe.each(OTHERS)('the words in %s', (language) => {
  it('are translated', () => {
    const common = IN_COMMON[language] ?? []
    const isLeft = (each: string, path: string): boolean => {
      const rest = each.replace(NAMES, '').replace(/700\d|\{\w+\}|[^\p{L}\s-]/gu, ' ')
      const words = rest.trim().replace(/\s+/g, ' ')
      return each === english.get(path) && words !== '' && !common.includes(words)
    }
    expect(wrongIn(language, isLeft)).toEqual([])
  })

  it('have the figures and marked places of the English ones', () => {
    const differs = (each: string, path: string): boolean =>
      places(each).join() !== places(english.get(path)!).join()
    expect(wrongIn(language, differs)).toEqual([])
  })

  it('are in its script, with its punctuation', () => {
    expect(wrongIn(language, (each) => isForeign(language, each))).toEqual([])
    expect(wrongIn(language, (each) => MISTYPED[language]?.test(each) === true)).toEqual([])
    expect(wrongIn(language, (each) => each.trim() !== each || each.includes('  ') || each === '')).toEqual(
      [],
    )
  })
})

describe('pages', () => {
  /** Words that are the same in all languages. */
  const SHOWN =
    /\b(?:anchor|Esc|UTC|v?B|H\/s|OpenAPI|openapi\.json|asyncapi\.json|GraphQL|GraphiQL|WebSocket)\b/g
  /** Attributes that readers see, or that are read to them. */
  const SEEN = /\b(?:aria-label|title|placeholder|alt)="([^"]*)"/g

  /** Returns the texts of a template of HTML without what is inserted. */
  function* shownIn({ template }: ts.TaggedTemplateExpression): Generator<string> {
    const parts = ts.isNoSubstitutionTemplateLiteral(template)
      ? [template.text]
      : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]
    const markup = parts.join('\0')
    // Attributes of an element of another template.
    if (!markup.includes('<') && /^ |="/.test(markup)) return
    for (const [, value = ''] of markup.matchAll(SEEN)) yield value
    yield* markup.replace(/<[^>]*>/g, '\0').split('\0')
  }

  /** Returns the texts of a file that are in no messages: in templates, and titles that are literals. */
  function literalsOf(path: string): string[] {
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === 'html')
        found.push(...shownIn(node))
      if (
        ts.isPropertyAssignment(node) &&
        ts.isIdentifier(node.name) &&
        node.name.text === 'title' &&
        ts.isStringLiteral(node.initializer)
      )
        found.push(node.initializer.text)
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest))
    return found
  }

  it('have no words but those of their messages', () => {
    const files = readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/^(?:messages|islands|feeds)\//.test(path))
      .map((path) => `${PAGES}/${path}`)
    expect(files.length).toBeGreaterThan(50)
    const left = files.flatMap((path) =>
      literalsOf(path)
        .filter((each) => /\p{L}{2}/u.test(each.replace(SHOWN, '')))
        .map((each) => `${path}: ${each.trim()}`),
    )
    expect(left).toEqual([])
  })
})
