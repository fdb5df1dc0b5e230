/** `npm run check:long`: tests that take too long for CI. */
import { parseArgs } from 'node:util'
import { runJobs } from './job-runs.js'
import { JOBS } from './jobs.js'

const USAGE = `npm run check:long -- [--again] [words]
Runs the jobs whose name has all of the words (default: all), prints their results, and a table at the end. Results and outputs are in
.data/long, in a folder for each commit. On the same commit, jobs that have passed are not run again, and one that was interrupted
continues with the run that it was at; with uncommitted changes all runs are made. Exit status: 0 all passed, 1 not all, 2 usage.
  --again     runs them from the beginning
jobs:
${JOBS.map(({ name }) => `  ${name}\n`).join('')}`

const flag = { type: 'boolean', default: false } as const
const { values, positionals } = parseArgs({ options: { again: flag, help: flag }, allowPositionals: true })
const jobs = JOBS.filter(({ name }) => positionals.every((word) => name.includes(word)))
const write = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.help || jobs.length === 0) write(USAGE)
if (values.help) process.exitCode = 0
else if (jobs.length === 0) process.exitCode = 2
else process.exitCode = (await runJobs(jobs, { root: process.cwd(), again: values.again, write })) ? 0 : 1
