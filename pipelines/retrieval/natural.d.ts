// natural's own types hang on its main module, which loads database drivers and prints: these two files do neither.
declare module 'natural/lib/natural/stemmers/porter_stemmer.js' {
  const PorterStemmer: { stem(word: string): string }
  export default PorterStemmer
}
declare module 'natural/lib/natural/tokenizers/regexp_tokenizer.js' {
  export class RegexpTokenizer {
    constructor(options: { pattern: RegExp; gaps: boolean })
    tokenize(text: string): string[] | null
  }
}
declare module 'natural/lib/natural/util/stopwords.js' {
  export const words: readonly string[]
}
