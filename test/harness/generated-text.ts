/** Words of the field; their sentences are as long as real ones, which alone decides speed and memory. */
const WORDS =
  `address amount archive balance bandwidth batch block bloom branch cache candidate chain checkpoint client cluster
commitment confirmation consensus counter database deadline difficulty digest disconnect endpoint epoch event explorer fee fork gateway
genesis gossip hash header height history index input interval journal key latency ledger limit listener log mempool merkle message
migration miner network node offset operator orphan output packet page partition payload peer pending pipeline pool position proof
protocol query queue reader record relay reorganisation replica request reward rollback rotation route schema script segment sequence
server session shard signature snapshot socket spend stream subscription subsidy supply tenant threshold timestamp tip token topic
transaction validator vault version wallet watcher weight window witness worker writer`.split(/\s+/)
const VERBS =
  'keeps sends drops counts reads writes signs follows splits merges verifies expires delays replays moves asks'.split(
    ' ',
  )

/** Returns the same numbers for the same seed, from 0 to below 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Pick = (list: readonly string[]) => string

function picker(seed: number): Pick {
  const next = numbers(seed)
  return (list) => list[Math.floor(next() * list.length)] ?? ''
}

const sentence = (pick: Pick): string =>
  `The ${pick(WORDS)} of a ${pick(WORDS)} ${pick(VERBS)} each ${pick(WORDS)} ${pick(WORDS)} before the ${pick(WORDS)} ${pick(VERBS)} its ${pick(WORDS)}.`

/** Returns a Markdown page with this number of sections, each one passage of about sixty words, code included. */
export function generatedPage(number: number, sections: number): string {
  const pick = picker(number + 1)
  const made = Array.from({ length: sections }, () => {
    const code = `\`\`\`sh\n${pick(WORDS)}_${pick(WORDS)} --${pick(WORDS)} ${String(number)}\n\`\`\``
    return `## The ${pick(WORDS)} ${pick(WORDS)}\n\n${sentence(pick)} ${sentence(pick)} ${sentence(pick)}\n\n${code}`
  })
  return `---\ntitle: ${pick(WORDS)} and ${pick(WORDS)} ${String(number)}\n---\n\n${made.join('\n\n')}\n`
}

/** Returns realistic questions of about ten words each, all different. */
export function generatedQuestions(count: number): string[] {
  const pick = picker(0x5eed)
  return Array.from(
    { length: count },
    () => `how does the ${pick(WORDS)} of a ${pick(WORDS)} ${pick(WORDS)} ${pick(VERBS)} its ${pick(WORDS)}`,
  )
}
