/** Something that trying again cannot help: a defect of this program, or a query of it that the server refuses. */
export class Defect extends Error {
  override readonly name: string = 'Defect'
}

/** What the language throws at an error of the program. */
export const PROGRAMMING_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Whether an error is our own: a `Defect`, or one of `PROGRAMMING_ERRORS`. */
export function isDefect(error: unknown): boolean {
  return error instanceof Defect || PROGRAMMING_ERRORS.some((kind) => error instanceof kind)
}
