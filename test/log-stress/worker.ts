/**
 * One process of the stress test: appends to a topic, reads its own and other records, closes and opens the log,
 * until it is killed. Prints a line for each acknowledged append (`ack writer number count position`) and one for
 * each violation (`WRONG …`); the parent checks the acknowledged records again at the end. Usage: worker.js folder
 * topic writer reopens|stays [unprotected]
 */
import { writeSync } from 'node:fs'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { type EventLog, type LogRecord, type Topic, TOPICS } from '../../pipelines/log/port.js'
import { Random } from '../../services/simnode/random.js'
import { originOf, valueOf } from './record.js'
import { openUnprotectedLog } from './unprotected.js'

const [folder = '', topicName, writerText, reopens, protection] = process.argv.slice(2)
const topic = TOPICS.find((name) => name === topicName) ?? 'chain'
const writer = Number(writerText)
const random = Random.of('log-stress', writer)
const APPENDS_AN_OPENING = 20

/** Written whole and synchronously: a printed line survives the kill of this process. */
function say(line: string): void {
  writeSync(1, `${line}\n`)
}

function wrong(what: string): void {
  say(`WRONG ${topic} writer ${String(writer)}: ${what}`)
}

let next = 0
let seen = -1

/** Mostly single records, as at the tip; sometimes a batch, rarely a large one, as in a backfill. */
function batch(): Buffer[] {
  const [count, size] = random.chance(0.8)
    ? [1, 20 + random.below(3_000)]
    : random.chance(0.95)
      ? [2 + random.below(14), 20 + random.below(3_000)]
      : [1 + random.below(4), 200_000 + random.below(400_000)]
  return Array.from({ length: count }, (_, i) => valueOf(topic, { writer, number: next + i }, size))
}

async function append(log: EventLog): Promise<void> {
  const values = batch()
  const number = next
  next += values.length
  let position: number
  try {
    position = await log.append(topic, values)
  } catch (error) {
    // It is unknown whether the records exist; their numbers are not used again.
    say(`failed ${error instanceof Error ? error.message : String(error)}`)
    return
  }
  say(['ack', writer, number, values.length, position].join(' '))
  const last = await log.last(topic)
  if (last < position) wrong(`position ${String(position)} was acknowledged, the last one is ${String(last)}`)
  const records = await log.read(topic, position - values.length + 1, values.length, Number.MAX_SAFE_INTEGER)
  for (const [i, { value }] of records.entries())
    if (!values[i]?.equals(value)) wrong(`position ${String(position)} does not hold the appended value`)
  if (records.length !== values.length) wrong(`position ${String(position)} does not exist`)
  seen = Math.max(seen, position)
}

/** Reads any range of any topic: it must have no gap, and every byte must be as it was appended. */
async function readSome(log: EventLog): Promise<void> {
  const other = random.pick(TOPICS)
  const last = await log.last(other)
  const from = random.below(last + 2)
  const records = await log.read(other, from, 1 + random.below(100))
  for (const [i, record] of records.entries()) check(other, record, from + i)
  if (records.length === 0 && from <= last)
    wrong(`${other} ${String(from)} of ${String(last)} does not exist`)
}

function check(other: Topic, { position, value }: LogRecord, expected: number): void {
  if (position !== expected) wrong(`${other} ${String(position)} was read at position ${String(expected)}`)
  if (originOf(other, value) === undefined)
    wrong(`${other} ${String(position)} holds a value that was not appended`)
}

async function use(log: EventLog): Promise<void> {
  for (let i = 0; i < APPENDS_AN_OPENING; i++) {
    await append(log)
    if (random.chance(0.3)) await readSome(log)
    if (random.chance(0.1)) await log.wait(topic, seen + 1, 5)
    if (random.chance(0.3)) await log.commit(topic, 'stress', seen)
  }
}

const open = protection === 'unprotected' ? openUnprotectedLog : openEmbeddedLog
let log = await open(folder)
for (;;) {
  const last = await log.last(topic)
  if (last < seen) wrong(`the last one is ${String(last)}, ${String(seen)} was read`)
  await use(log)
  if (reopens !== 'reopens') continue
  await log.close()
  log = await open(folder)
  say('reopened')
}
