import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { type BareServer, startBare } from '../../bare-server.js'
import { edgesOf, isInPath, isInUrl, pathOf } from '../../edges.js'

/**
 * The minimum size of a first segment: 1,280 bytes, which every IPv6 path carries, minus the headers of IPv6, TCP and
 * its timestamps.
 */
const SAFE_BYTES = 1_280 - 40 - 20 - 12

/**
 * uwebsockets 3.0.6 answers 505 to a request line if a segment ends anywhere between the space after the method and
 * the line's end. With a version that waits for the rest these tests fail: then content/internals/load.md and
 * errors-and-limits.md must be changed.
 */
describe('a request line in two segments', () => {
  let bare: BareServer
  let other: Socket

  beforeAll(async () => {
    bare = await startBare({ reads: READS })
    other = connect(bare.port, '127.0.0.1')
    await once(other, 'connect')
  })
  afterAll(() => {
    other.destroy()
    bare.close()
  })

  /** When it resolves the server has read all that was sent before, because it reads its connections in turn. */
  async function hasRead(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) {
      other.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(other, 'data')
    }
  }

  /**
   * Sends the parts one by one.
   * @returns the status of the answer, and whether the server closed the connection.
   */
  async function send(...parts: readonly string[]): Promise<{ status: number; isClosed: boolean }> {
    const socket = connect(bare.port, '127.0.0.1')
    socket.setNoDelay(true)
    let text = ''
    const answered = new Promise<void>((resolve) => {
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1')
        resolve()
      })
      socket.on('error', () => undefined)
      socket.on('close', resolve)
    })
    const closed = new Promise<boolean>((resolve) => {
      socket.on('close', () => {
        resolve(true)
      })
    })
    await once(socket, 'connect')
    for (const part of parts) {
      if (text !== '') break
      await new Promise((resolve) => socket.write(part, 'latin1', resolve))
      await hasRead()
    }
    await answered
    const status = Number(text.slice(9, 12))
    const isClosed = status === 505 ? await closed : socket.destroyed
    socket.destroy()
    return { status, isClosed }
  }

  const cut = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at)]

  it('is answered with 505 and closed, wherever it is split behind the method', async () => {
    const head = 'GET /health?abc HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n'
    const lineBytes = head.indexOf('\n') + 1
    for (let at = 1; at < head.length; at++) {
      const isCut = at >= 'GET '.length && at < lineBytes
      const expected = isCut ? { status: 505, isClosed: true } : { status: 200, isClosed: false }
      expect(await send(...cut(head, at)), `cut after ${JSON.stringify(head.slice(0, at))}`).toEqual(expected)
    }
  })

  it.each([SAFE_BYTES, 1_428, 1_440, 1_448, 1_460])(
    'is accepted if the first segment contains it: %i bytes',
    async (bytes) => {
      const headers = `Host: x\r\nX-Long: ${'a'.repeat(3_000)}\r\n\r\n`
      for (const more of [-1, 0, 1]) {
        const line = `GET /health?${'x'.repeat(bytes + more - 'GET /health? HTTP/1.1\r\n'.length)} HTTP/1.1\r\n`
        expect(line).toHaveLength(bytes + more)
        // Full segments: the one with the line's end starts the headers.
        const { status } = await send(...cut(line + headers, bytes))
        expect(status, String(more)).toBe(more > 0 ? 505 : 200)
      }
    },
  )

  it('may be as long as a URL if it is sent whole', async () => {
    for (const [bytes, status] of [
      [8_000, 200],
      [8_192, 414],
      [15_000, 414],
    ] as const)
      expect(await send(`GET /health?${'x'.repeat(bytes)} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatchObject({
        status,
      })
  })

  it('is not needed for any read: the longest one, with every argument at its longest, is shorter than the smallest segment', () => {
    const lengths = READS.filter(isInUrl).map((read) => {
      const values = Object.keys(read.args).map((name) => {
        const { inside, plausible } = edgesOf(read, name)
        const { maxLength = 0, format } = read.args[name] as { maxLength?: number; format?: string }
        // Of what JavaScript counts as one character, the first take the most bytes in a URL: nine. A longer text is ASCII: three.
        const long = isInPath(read, name) ? [] : ['€'.repeat(Math.min(100, maxLength)), '/'.repeat(maxLength)]
        const texts = format === 'date' ? ['2026-11-22'] : [...inside, ...plausible, ...long]
        const spelled = texts.map((text) => encodeURIComponent(text).length)
        return [name, texts[spelled.indexOf(Math.max(...spelled))] ?? '']
      })
      return `GET ${pathOf(read, Object.fromEntries(values) as Record<string, string>)} HTTP/1.1\r\n`.length
    })
    expect(Math.max(...lengths)).toBeGreaterThan(900)
    expect(Math.max(...lengths)).toBeLessThanOrEqual(SAFE_BYTES)
  })
})
