// The types of natural belong to its main module, which loads database drivers and prints to the console. These files do neither.
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

// Its types import files without extensions, which the module resolution of this project does not find.
declare module '@huggingface/tokenizers' {
  export class Tokenizer {
    /** @param tokenizer content of tokenizer.json. @param config content of tokenizer_config.json. */
    constructor(tokenizer: object, config: object)
    encode(text: string): { readonly ids: number[] }
  }
}
