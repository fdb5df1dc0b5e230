import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { DatabaseUnavailable } from '../../../../../pipelines/tables/clickhouse.js'
import { historyCsv } from '../../../../../services/explorer/faces/rest/history-csv.js'
import { Server } from '../../../../../services/explorer/host/http/server.js'
import { NO_CHAIN } from '../../../../../services/explorer/core/state/state.js'
import { blockTxKey } from '../../../../../services/explorer/core/tables/point-keys.js'
import type { ScriptRow } from '../../../../../services/explorer/core/tables/lookups.js'
import type { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { until } from '../../../../harness/until.js'

const SCRIPT = 'ab'.repeat(20)
const COUNT = 1_000
const txidOf = (ordinal: number): string => ordinal.toString(16).padStart(64, '0')

/** A state in which the script has a transaction in each block, which adds one base unit. */
function stateOf(read: (from: number, to: number) => void = () => undefined) {
  const rowOf = (ordinal: number): ScriptRow => ({
    scriptHash: SCRIPT,
    ordinal,
    height: ordinal,
    blockTag: 1,
    txIndex: 0,
    totalReceived: BigInt(ordinal),
    totalSent: 0n,
    unspentCount: ordinal,
    fundedCount: 2,
    spendKinds: 0,
  })
  const tables = {
    scriptRows: (_: string, from: number, to: number) => {
      read(from, to)
      return Promise.resolve(Array.from({ length: to - from + 1 }, (__, index) => rowOf(from + index)))
    },
    txids: {
      getAll: (keys: Iterable<string>) => {
        const found = Array.from({ length: COUNT }, (_, index) => rowOf(index + 1))
        const wanted = new Set(keys)
        return Promise.resolve(
          new Map(
            found
              .filter((row) => wanted.has(blockTxKey(row)))
              .map((row) => [blockTxKey(row), txidOf(row.ordinal)]),
          ),
        )
      },
    },
  } as unknown as Tables
  const blocks = { has: () => true, timeAt: () => 1_771_804_800 } as unknown as typeof NO_CHAIN.blocks
  return { tables, chain: { ...NO_CHAIN, height: COUNT, tipHash: 'cd'.repeat(32), blocks } }
}

const history = { scriptHash: SCRIPT, count: COUNT, inMempool: [] }

async function linesOf(parts: AsyncGenerator<string>): Promise<string[]> {
  let text = ''
  for await (const part of parts) text += part
  return text.split('\r\n').slice(0, -1)
}

describe('the history of an address as a file', () => {
  it('has a line for each transaction, with the balance after it', async () => {
    const lines = await linesOf(historyCsv(stateOf(), history, () => true))
    expect(lines).toHaveLength(COUNT + 1)
    expect(lines[1]).toBe(`${txidOf(1)},1,0,2026-02-23T00:00:00.000Z,1,1`)
    expect(lines.at(-1)).toBe(
      `${txidOf(COUNT)},${String(COUNT)},0,2026-02-23T00:00:00.000Z,1,${String(COUNT)}`,
    )
  })

  it('ends with an error line when a reorganisation removes its state', async () => {
    let isOnChain = true
    const state = stateOf((from) => {
      if (from > 500) isOnChain = false
    })
    const lines = await linesOf(historyCsv(state, history, () => isOnChain))
    expect(lines.at(-1)).toBe('error,"A reorganisation has removed the state of this file: request it again"')
    expect(lines.length).toBeGreaterThan(400)
    expect(lines.length).toBeLessThan(COUNT)
    isOnChain = false
    expect(await linesOf(historyCsv(stateOf(), { ...history, count: 0 }, () => false))).toEqual([
      'txid,block_height,tx_index,timestamp,value_change,balance',
      lines.at(-1),
    ])
  })

  it('ends with an error line when the database fails', async () => {
    const state = stateOf((from) => {
      if (from > 500) throw new DatabaseUnavailable('gone')
    })
    const lines = await linesOf(historyCsv(state, history, () => true))
    expect(lines.at(-1)).toBe('error,"Database unavailable"')
  })
})

describe('an answer in parts', () => {
  it('is made as far as its client reads, and no further after a disconnect', async () => {
    let made = 0
    let isOver = false
    async function* endless(): AsyncGenerator<string> {
      try {
        for (;;) {
          made++
          yield 'x'.repeat(100_000)
        }
      } finally {
        isOver = true
      }
    }
    const answer = { status: 200, headers: [], body: Buffer.alloc(0) }
    const server = new Server()
    server.serve({
      answer: () => Promise.resolve({ ...answer, parts: endless() }),
      refusal: () => undefined,
      observe: () => undefined,
    })
    const port = await server.listen('127.0.0.1', 0)
    const socket = connect(port, '127.0.0.1')
    let received = 0
    socket.on('data', (bytes) => (received += bytes.length))
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('it reads', () => received > 2_000_000)
    socket.pause()
    // The buffers of both sides fill, and then nothing is made any more.
    let before = -1
    await until('nothing is made', async () => {
      const isSame = made === before
      before = made
      for (let turn = 0; turn < 2_000; turn++) await new Promise((resolve) => setImmediate(resolve))
      return isSame && made === before
    })
    expect(made).toBeLessThan(400)
    const paused = made
    socket.resume()
    await until('it continues', () => made > paused)
    socket.destroy()
    await until('it is over', () => isOver)
    server.close()
  })
})
