import { coded } from '../../../../pipelines/errors.js'
import type { CancelSignal } from '../tables/cancellation.js'

/**
 * The maximum number of characters of witnesses, long scripts and payloads in the lists of one answer: with the other fields of usual
 * transactions an answer stays below the 4 MiB that gRPC clients accept by default.
 */
const MAX_OPTIONAL = 3_000_000
/** The maximum number of characters of an answer with several transactions. */
const MAX_CHARACTERS = 16 * 2 ** 20
/** The bytes of large answers that may be in the making together. In memory each byte takes several. */
const MAX_IN_MAKING = 32 * 2 ** 20
/** Answers up to this size are made at once: as many as may be in progress take less memory than a few large ones. */
const MAX_UNRESERVED = 256 * 1024

/** Thrown for an answer that would be too large although all that may be left out was: 400. */
export class AnswerTooLarge extends coded('HW_ANSWER_TOO_LARGE') {}

/** Bounds the memory of answers that are being made. Those that do not fit wait for others, in order. */
export class MakingMemory {
  #used = 0
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []

  constructor(private readonly maxBytes = MAX_IN_MAKING) {}

  /** Takes memory when there is enough, or when no other answer has any. @throws the reason of the signal. */
  async take(bytes: number, signal: CancelSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#used += bytes
      return
    }
    const isTaken = await new Promise<boolean>((resolve) => {
      const cancel = (): void => {
        const index = this.#waiting.indexOf(waiting)
        // The answer before this one was cancelled too, and began this one.
        if (index < 0) return
        this.#waiting.splice(index, 1)
        this.#next()
        resolve(false)
      }
      const begin = (): void => {
        signal.removeEventListener('abort', cancel)
        this.#used += bytes
        resolve(true)
      }
      const waiting = { bytes, begin }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', cancel)
    })
    if (!isTaken) signal.throwIfAborted()
  }

  /** Returns memory. */
  give(bytes: number): void {
    this.#used -= bytes
    this.#next()
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.maxBytes
  }

  #next(): void {
    for (
      let first = this.#waiting[0];
      first !== undefined && this.#fits(first.bytes);
      [first] = this.#waiting
    ) {
      this.#waiting.shift()
      first.begin()
    }
  }
}

/** The size of one answer, or of all reads of one operation. */
export class AnswerSize {
  #optional = 0
  #characters = 0
  #wanted = 0
  #reserved = 0
  #taking: Promise<void> = Promise.resolve()
  #isReleased = false

  constructor(
    private readonly memory: MakingMemory,
    private readonly signal: CancelSignal,
    private readonly maxCharacters = MAX_CHARACTERS,
  ) {}

  /** Returns whether a witness, script or payload still fits into the lists of the answer, and counts it. */
  readonly takes = (bytes: number): boolean => {
    const characters = 2 * bytes
    if (this.#optional + characters > MAX_OPTIONAL) return false
    this.#optional += characters
    return true
  }

  /** Counts an item of a list. @throws AnswerTooLarge if the answer has others, and becomes too large with it. */
  add(characters: number): void {
    const isFirst = this.#characters === 0
    this.#characters += characters
    if (this.#characters > this.maxCharacters && !isFirst)
      throw new AnswerTooLarge(
        `the answer would have more than ${String(this.maxCharacters)} characters: lower limit, or read the items one by one`,
      )
  }

  /**
   * Waits until there is memory for so many bytes more. Reads of an operation may call it concurrently: then one waits for the
   * other, and the memory of both is taken at once.
   */
  async reserve(bytes: number): Promise<void> {
    this.#wanted += bytes
    if (this.#wanted <= MAX_UNRESERVED) return
    const taking = this.#taking.then(() => this.#take())
    // Each caller receives the error.
    this.#taking = taking.catch(() => undefined)
    await taking
  }

  async #take(): Promise<void> {
    const bytes = this.#wanted
    if (this.#isReleased || bytes <= this.#reserved) return
    // Given back first: answers that hold memory and wait for each other would never end.
    this.#giveBack()
    await this.memory.take(bytes, this.signal)
    this.#reserved = bytes
    // The answer may have ended meanwhile.
    if (this.#isReleased) this.#giveBack()
  }

  #giveBack(): void {
    if (this.#reserved > 0) this.memory.give(this.#reserved)
    this.#reserved = 0
  }

  /** Forgets what was counted, to make the answer again. */
  reset(): void {
    this.#optional = 0
    this.#characters = 0
    this.#wanted = 0
  }

  /** Returns the memory, when the answer is made or has failed. */
  release(): void {
    this.#isReleased = true
    this.#giveBack()
  }
}
