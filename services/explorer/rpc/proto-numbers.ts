/** The numbers of a message's fields or an enum's values, and those that nothing may have any more. */
export interface Numbers {
  readonly byName: ReadonlyMap<string, number>
  readonly reserved: readonly number[]
  readonly reservedNames: readonly string[]
}

interface Scope {
  readonly byName: Map<string, number>
  readonly reserved: number[]
  readonly reservedNames: string[]
}

/** Numbers by the path of message or enum (`Input.Witness`) in a file as proto-text.ts writes it. */
export function numbersIn(text: string): ReadonlyMap<string, Numbers> {
  const scopes = new Map<string, Scope>()
  // A oneof is no scope of its own: its fields are the message's.
  const open: string[] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    const opened = /^(message|enum|oneof|service) (\w+) \{(\})?/.exec(line)
    if (opened !== null) {
      if (opened[3] === undefined) open.push(opened[1] === 'oneof' ? '' : (opened[2] ?? ''))
      continue
    }
    if (line === '}') open.pop()
    if (open.length === 0 || line.startsWith('//')) continue
    const path = pathOf(open)
    const scope = scopes.get(path) ?? { byName: new Map(), reserved: [], reservedNames: [] }
    scopes.set(path, scope)
    if (line.startsWith('reserved ')) reserve(line, scope)
    const numbered = /(\w+) = (\d+)(?: \[.*\])?;$/.exec(line)
    if (numbered !== null) scope.byName.set(numbered[1] ?? '', Number(numbered[2]))
  }
  return scopes
}

const pathOf = (open: readonly string[]): string => open.filter((name) => name !== '').join('.')

function reserve(line: string, { reserved, reservedNames }: Scope): void {
  for (const [, name] of line.matchAll(/"(\w+)"/g)) reservedNames.push(name ?? '')
  for (const [, number] of line.replace(/"\w+"/g, '').matchAll(/(\d+)/g)) reserved.push(Number(number))
}

/**
 * Numbers for these names: those that they had, the next free ones for new ones; what is gone is reserved for ever.
 * @param first the number of the first one of all: 1 of a field, 0 of an enum's value.
 */
export function renumbered(names: readonly string[], before: Numbers | undefined, first: 0 | 1): Numbers {
  const had = before?.byName ?? new Map<string, number>()
  const gone = [...had].filter(([name]) => !names.includes(name))
  const reserved = [...(before?.reserved ?? []), ...gone.map(([, number]) => number)].sort((a, b) => a - b)
  // A name may come back, under another number.
  const reservedNames = [...(before?.reservedNames ?? []), ...gone.map(([name]) => name)].filter(
    (name) => !names.includes(name),
  )
  let next = Math.max(first - 1, ...reserved, ...had.values()) + 1
  const byName = new Map(names.map((name) => [name, had.get(name) ?? next++]))
  return { byName, reserved, reservedNames }
}
