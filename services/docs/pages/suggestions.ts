import type { Page } from '../../../pipelines/content/page.js'

const MOST = 3
/** The maximum length of a suggested question, in characters: two lines of the panel. */
const MAX_LENGTH = 70
/** Verbs with which headings of instructions begin, without those that are nouns as well, such as "test" in "Test suites". */
const VERBS = new Set(
  (
    'add apply build choose compare compile configure connect convert create customise customize define delete deploy disable edit ' +
    'enable extend find follow generate handle install manage migrate optimise optimize override protect publish receive register ' +
    'remove rename replace restart restore run save secure send serve set subscribe translate uninstall upload use validate verify write'
  ).split(' '),
)
const NO_OBJECT = /^(?:and|or|of|for|as)\b/

/**
 * Returns questions that the documentation answers under a heading: those of the current page first, then those of its folder, then
 * any. Pages that are not searched have no answers. Headings that are questions come before headings of instructions, "Install the client" or "Installing the client", which become
 * "How do I install the client?".
 */
export function suggestedQuestions(pages: readonly Page[], current: Page | undefined): readonly string[] {
  const folder = current?.slug.split('/').slice(0, -1).join('/') ?? ''
  const searched = pages.filter(({ isInSearch, isUnlisted }) => isInSearch && !isUnlisted)
  const near = searched.filter((page) => page !== current && page.slug.startsWith(folder))
  const found = new Set<string>()
  for (const group of [searched.filter((page) => page === current), near, searched]) {
    const headings = group.flatMap(({ toc }) => toc.map(({ title }) => title.replaceAll('`', '').trim()))
    const questions = [
      ...headings.filter((heading) => /^[A-Z].*\?$/.test(heading)),
      ...headings.flatMap((heading) => instructed(heading) ?? []),
    ]
    for (const question of questions)
      if (found.size < MOST && question.length <= MAX_LENGTH) found.add(question)
  }
  return [...found]
}

/** Returns the question of a heading that begins with a verb and has an object; undefined for other headings. */
function instructed(heading: string): string | undefined {
  const [, first = '', rest = ''] = /^([A-Z][a-z]+)(( [^\s.,:;!?()]+)+)$/.exec(heading) ?? []
  const verb = verbOf(first.toLowerCase())
  return verb === undefined || NO_OBJECT.test(rest.trim())
    ? undefined
    : `How do I ${verb}${rest.replace(/\byour\b/g, 'my')}?`
}

function verbOf(word: string): string | undefined {
  const stem = word.replace(/ing$/, '')
  return [word, stem, `${stem}e`, stem.replace(/(.)\1$/, '$1')].find((each) => VERBS.has(each))
}
