import { common, type LanguageFn } from 'lowlight'

/** The frontmatter of a file: what is between two lines of dashes, the first of which begins the file. */
const frontmatter = (language: string): object => ({
  begin: /(?<![\s\S])---[ \t]*$/,
  end: /^---[ \t]*$/,
  beginScope: 'meta',
  endScope: 'meta',
  subLanguage: language,
})

/** Braces with an expression of JavaScript, with braces inside of it. */
const expression = (): object => ({ begin: /\{/, end: /\}/, subLanguage: 'typescript', contains: ['self'] })

/** Imports and exports, up to the next empty line. */
const modules = { begin: /^(?=(?:import|export)\s)/, end: /^\s*$/, subLanguage: 'typescript' }

/** Describes MDX to the highlighter: Markdown, whose tags are XML, with frontmatter, imports, exports and expressions. */
export const mdx: LanguageFn = (api) => {
  const markdown = common['markdown']?.(api)
  return {
    ...markdown,
    name: 'MDX',
    aliases: [],
    contains: [frontmatter('yaml'), modules, ...(markdown?.contains ?? []), expression()],
  }
}

/** Describes components of Astro to the highlighter: a script between dashes, then XML with expressions. */
export const astro: LanguageFn = () => ({
  name: 'Astro',
  subLanguage: 'xml',
  contains: [
    frontmatter('typescript'),
    { begin: /(?<=<script[^>]*>)/, end: /(?=<\/script>)/, subLanguage: 'typescript' },
    { begin: /(?<=<style[^>]*>)/, end: /(?=<\/style>)/, subLanguage: 'css' },
    expression(),
  ],
})
