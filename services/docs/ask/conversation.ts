import { Refusal } from '../http/reply.js'

/** A message of a conversation. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

const MAX_MESSAGES = 20
const MAX_QUESTION = 1_000

/** Returns the question of an ask request. @throws Refusal 400 if it is missing or invalid. */
export function questionOf(body: unknown): string {
  const question = isRecord(body) ? body['question'] : undefined
  if (typeof question !== 'string' || question.trim() === '')
    throw new Refusal('HW_INVALID_ARGUMENT', 'question must be a non-empty string')
  if (lengthOf(question) > MAX_QUESTION)
    throw new Refusal('HW_INVALID_ARGUMENT', `question must have at most ${String(MAX_QUESTION)} characters`)
  return question
}

/**
 * Returns the turns of a chat request, which are UI messages of the AI SDK; the last is the user's.
 * @throws Refusal 400 naming the invalid field.
 */
export function turnsOf(body: unknown): readonly Turn[] {
  const messages = isRecord(body) ? body['messages'] : undefined
  if (!Array.isArray(messages) || messages.length === 0)
    throw new Refusal('HW_INVALID_ARGUMENT', 'messages must be a non-empty array')
  if (messages.length > MAX_MESSAGES)
    throw new Refusal('HW_INVALID_ARGUMENT', `messages must have at most ${String(MAX_MESSAGES)} items`)
  const turns = messages.map(turnOf)
  if (turns.at(-1)?.role !== 'user')
    throw new Refusal('HW_INVALID_ARGUMENT', "the last message must be the user's")
  return turns
}

/** Returns the language of a request, as a BCP 47 tag; empty if it names none. @throws Refusal 400 if it is no string. */
export function langOf(body: unknown): string {
  const lang = isRecord(body) ? body['lang'] : undefined
  if (lang === undefined) return ''
  if (typeof lang !== 'string' || lang.length > 35)
    throw new Refusal('HW_INVALID_ARGUMENT', 'lang must be a language, such as "de"')
  return lang
}

function turnOf(message: unknown, index: number): Turn {
  const path = `messages[${String(index)}]`
  if (!isRecord(message)) throw new Refusal('HW_INVALID_ARGUMENT', `${path} must be an object`)
  const { role, parts } = message
  if (role !== 'user' && role !== 'assistant')
    throw new Refusal('HW_INVALID_ARGUMENT', `${path}.role must be user or assistant`)
  if (!Array.isArray(parts)) throw new Refusal('HW_INVALID_ARGUMENT', `${path}.parts must be an array`)
  const text = parts.map((part, at) => textOf(part, `${path}.parts[${String(at)}]`)).join('')
  if (role === 'user' && text.trim() === '') throw new Refusal('HW_INVALID_ARGUMENT', `${path} has no text`)
  return { role, text }
}

/** Returns the text of a part; empty for parts of other types. */
function textOf(part: unknown, path: string): string {
  if (!isRecord(part) || typeof part['type'] !== 'string')
    throw new Refusal('HW_INVALID_ARGUMENT', `${path}.type must be a string`)
  if (part['type'] !== 'text') return ''
  if (typeof part['text'] !== 'string')
    throw new Refusal('HW_INVALID_ARGUMENT', `${path}.text must be a string`)
  return part['text']
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the number of characters. One outside the first plane of Unicode takes two units, but counts once. */
function lengthOf(text: string): number {
  if (text.length <= MAX_QUESTION) return text.length
  // More than twice as many units are too many characters in any case.
  return text.length > 2 * MAX_QUESTION ? text.length : Array.from(text).length
}
