/** `npm run check:long`: tests that take too long for CI. */
import { runJobs, type Runner, reportStatus } from './job-runs.js'
import { JOBS } from './jobs.js'

const USAGE = `npm run check:long -- [options] [words]
Runs the jobs whose name has all of the words (default: all) and that have not passed on the sources as they are; a job that was
interrupted continues with the run that it was at. Results are in bench/long.md. Exit status: 0 all passed, 1 not all passed, 2 usage.
  --status    prints whether each result is of the current sources, and runs nothing; the exit status says the same
  --again     repeats what has passed`

const args = process.argv.slice(2)
const words = args.filter((each) => !each.startsWith('--'))
const unknown = args.find((each) => each.startsWith('--') && !['--status', '--again'].includes(each))
if (unknown === undefined) process.exitCode = (await run()) ? 0 : 1
else {
  process.stdout.write(`${USAGE}\n`)
  process.exitCode = unknown === '--help' ? 0 : 2
}

async function run(): Promise<boolean> {
  const write = (text: string): void => void process.stdout.write(text)
  const runner: Runner = { jobs: JOBS, root: process.cwd(), report: 'bench/long.md', write }
  return args.includes('--status')
    ? reportStatus(runner, words)
    : runJobs(runner, words, args.includes('--again'))
}
