import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdFolder } from '../../services/process/only-one.js'
import { ROOT } from '../harness/processes.js'

const ROUNDS = 8

/** Tries to hold the folder at each message, and answers with the result. */
const PROGRAM = `
  import { holdFolder } from ${JSON.stringify(join(ROOT, 'dist/services/process/only-one.js'))}
  process.on('message', async (folder) => {
    const answer = await holdFolder(folder).then((letGo) => ((globalThis.kept = letGo), 'held'), (error) => error.message)
    process.send(answer)
  })
  process.send('ready')
`

let folder: string
let children: ChildProcess[] = []

async function contestant(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  children.push(child)
  await once(child, 'message')
  return child
}

async function tries(child: ChildProcess): Promise<string> {
  const answered = once(child, 'message')
  child.send(folder)
  return String((await answered)[0])
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  children = children.filter((each) => each !== child)
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-'))
})

afterEach(async () => {
  await Promise.all(children.map(kill))
  await rm(folder, { recursive: true, force: true })
})

describe('a data folder', () => {
  for (const many of [2, 5])
    it(
      `is held by exactly one of ${String(many)} that start at once, also after a kill -9, ${String(ROUNDS)} times`,
      {
        timeout: 180_000,
      },
      async () => {
        let all = await Promise.all(Array.from({ length: many }, contestant))
        for (let round = 1; round <= ROUNDS; round++) {
          const answers = await Promise.all(all.map(tries))
          const winner = all[answers.indexOf('held')]
          expect(
            answers.filter((answer) => answer === 'held'),
            `round ${String(round)}`,
          ).toHaveLength(1)
          const refused = `Headwater is already running in ${folder} (process ${String(winner?.pid)}): stop it, or set DATA_DIR to another folder`
          expect(answers.filter((answer) => answer !== 'held')).toEqual(
            Array.from({ length: many - 1 }, () => refused),
          )
          // What a round leaves behind is the state in which the next one starts.
          if (winner !== undefined) await kill(winner)
          all = [...all.filter((each) => each !== winner), await contestant()]
        }
      },
    )

  it('is released', async () => {
    const letGo = await holdFolder(folder)
    const other = await contestant()
    expect(await tries(other)).toMatch(
      new RegExp(`already running in .* \\(process ${String(process.pid)}\\)`),
    )
    letGo()
    expect(await tries(other)).toBe('held')
  })

  it('is refused even if the number of its holder is unavailable', async () => {
    const letGo = await holdFolder(folder)
    await writeFile(join(folder, 'start.pid'), 'nothing')
    expect(await tries(await contestant())).toMatch(/is already running in .*: stop it/)
    letGo()
  })
})
