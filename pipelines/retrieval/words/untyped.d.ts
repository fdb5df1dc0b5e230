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

// Its own types import files without their endings, which this project's module resolution does not find.
declare module '@huggingface/tokenizers' {
  export class Tokenizer {
    /** @param tokenizer content of tokenizer.json. @param config content of tokenizer_config.json. */
    constructor(tokenizer: object, config: object)
    encode(text: string): { readonly ids: number[] }
  }
}
