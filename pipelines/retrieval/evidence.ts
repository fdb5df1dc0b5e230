import type { Embeds } from './model/model.js'
import type { Snapshot } from './index/snapshot.js'
import type { Token } from './words/analysis.js'
import { carryingWords, type Question } from './words/question.js'

/** The number of words that are checked. Each takes an embedding. */
const MAX_WORDS = 12
/**
 * The minimum that a passage must have of a word to cover it in other words: a share of its meaning, and a difference of cosines that
 * is more than chance. Decision 30 has the measurements.
 */
const COVERING_SHARE = 0.5
const LEAST_DIFFERENCE = 0.05
/** The part of a word in other words that counts by degree, also against the passage. The rest counts if it is covered. */
const DEGREE_SHARE = 0.4
/** The least meaning by which a difference is divided: below, it is chance. */
const LEAST_MEANING = 0.02

/** A word of a question. */
export interface CarryingWord {
  readonly token: Token
  /** Numbers of its term, and of its parts if it is a compound; undefined if no page contains them. */
  readonly id: number | undefined
  readonly partIds: readonly (number | undefined)[]
  /** Share of the question's meaning that is lost without the word, 0 to 2; 1 without a model. */
  readonly meaning: number
  /** The vector of the question without the word; absent without a model. */
  readonly rest?: Float32Array
}

/** Returns the words of a question that distinguish passages most, without their vectors. */
export function wordsOf(snapshot: Snapshot, question: Question): CarryingWord[] {
  const { lexicon, chunkIndex } = snapshot
  const idOf = ({ term }: Token): number | undefined => lexicon.find(term)
  return carryingWords(question)
    .map(({ token, parts }) => ({ token, id: idOf(token), partIds: parts.map(idOf), meaning: 1 }))
    .sort((a, b) => chunkIndex.idf(b.id) - chunkIndex.idf(a.id))
    .slice(0, MAX_WORDS)
}

/**
 * Adds to each word what the question means without it: "do I encrypt the messages" without "encrypt" has lost most of its meaning,
 * "how many times is it tried" without "times" hardly any.
 * @throws ModelLost
 */
export async function weigh(
  words: readonly CarryingWord[],
  { text, vector }: { readonly text: string; readonly vector: Float32Array },
  embedder: Embeds,
): Promise<CarryingWord[]> {
  return Promise.all(
    words.map(async (word) => {
      const { start, end } = word.token
      const rest = await embedder.question(
        `${text.slice(0, start)} ${text.slice(end)}`.replace(/\s+/g, ' ').trim(),
      )
      const cosine = rest.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0)
      return { ...word, meaning: 1 - cosine, rest }
    }),
  )
}

/**
 * Returns how much of a question a chunk covers: 1 if it contains every word, in its text or in a title above it. A word weighs as much
 * as it is rare and as it carries meaning. A word that is not contained counts by how much nearer the question is to the chunk with the
 * word than without it: then the chunk is about it in other words. If the chunk is nearer without the word, that counts against it.
 * @param similarity returns the cosine of the question and the chunk, or of the question without a word; absent without a model.
 * @returns −0.4 to 1; at least 0 without a model.
 */
export function coverage(
  snapshot: Snapshot,
  words: readonly CarryingWord[],
  chunk: number,
  similarity?: (rest?: Float32Array) => number | undefined,
): number {
  const whole = similarity?.()
  const meant = ({ rest, meaning }: CarryingWord): number => {
    if (rest === undefined || whole === undefined) return 0
    const difference = whole - (similarity?.(rest) ?? whole)
    const degree = Math.max(-1, Math.min(1, difference / Math.max(LEAST_MEANING, meaning)))
    const isAbout = difference > Math.max(COVERING_SHARE * meaning, LEAST_DIFFERENCE)
    return DEGREE_SHARE * degree + (isAbout ? 1 - DEGREE_SHARE : 0)
  }
  const isContained = ({ id, partIds }: CarryingWord): boolean =>
    snapshot.has(chunk, id) || (partIds.length > 0 && partIds.every((part) => snapshot.has(chunk, part)))
  let covered = 0
  let total = 0
  for (const word of words) {
    const weight = Math.max(0, word.meaning) * snapshot.chunkIndex.idf(word.id)
    total += weight
    covered += weight * (isContained(word) ? 1 : meant(word))
  }
  return total === 0 ? 0 : covered / total
}
