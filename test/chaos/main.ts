import { chaos, type Outcome } from './chaos.js'
import type { Control } from './controls.js'
import { type ChaosOptions, readCommandLine, USAGE, UsageError } from './options.js'

/** The number of differences that are printed; the rest mostly follows from the first ones. */
const SHOWN = 12
/** A script can be as long as a block. */
const LONGEST = 300

const say = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  const options = readCommandLine(process.argv.slice(2))
  if (options === undefined) say(USAGE)
  process.exit(options === undefined ? 0 : await run(options))
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`chaos: ${message}\n${error instanceof UsageError ? `${USAGE}\n` : ''}`)
  process.exit(2)
}

/** @returns the exit status. */
async function run(options: ChaosOptions): Promise<number> {
  if (options.controls.length > 0) return runControls(options)
  const outcome = await chaos({ ...options, say })
  printOutcome(outcome, options)
  return outcome.differences.length === 0 ? 0 : 1
}

/** Every control must show a difference: the exit status of such a run is that of a run that found one. */
async function runControls(options: ChaosOptions): Promise<number> {
  const notMissed: Control[] = []
  for (const control of options.controls) {
    say(`without ${control}:`)
    const outcome = await chaos({ ...options, control, say })
    printOutcome(outcome, options)
    if (outcome.differences.length === 0) notMissed.push(control)
  }
  for (const control of notMissed)
    say(`NOT MISSED: ${control} was removed, and no round of ${String(options.rounds)} showed a difference`)
  return notMissed.length === 0 ? 1 : 0
}

function printOutcome({ differences, rounds }: Outcome, { seed, log }: ChaosOptions): void {
  if (differences.length === 0) {
    say(`ok   chaos: ${String(rounds)} rounds of seed ${String(seed)} on ${log}`)
    return
  }
  say(`WRONG in round ${String(rounds)} of seed ${String(seed)} on ${log}`)
  for (const difference of differences.slice(0, SHOWN))
    say(`  ${difference.length > LONGEST ? `${difference.slice(0, LONGEST)}…` : difference}`)
  if (differences.length > SHOWN) say(`  and ${String(differences.length - SHOWN)} more`)
}
