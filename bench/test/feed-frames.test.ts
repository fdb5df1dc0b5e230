import { describe, expect, it } from 'vitest'
import { clientFrame, FrameReader, OPCODE, seqOf } from '../feed-frames.js'

/** Returns a frame of a server, which is not masked. */
function serverFrame(opcode: number, payload: string): Buffer {
  const body = Buffer.from(payload)
  const head =
    body.length < 126
      ? Buffer.from([0x80 | opcode, body.length])
      : Buffer.from([0x80 | opcode, 126, body.length >> 8, body.length & 0xff])
  return Buffer.concat([head, body])
}

const event = (seq: number, padding = ''): string =>
  JSON.stringify({ channel: 'mempool', data: { txid: padding, vsize: 141 }, seq })

describe('frames', () => {
  const texts = ['', event(1), event(20, 'x'.repeat(300)), event(300, 'y'.repeat(125)), '{"type":"pong"}']
  const bytes = Buffer.concat(texts.map((text) => serverFrame(OPCODE.text, text)))

  it.each([1, 2, 3, 7, 64, 100_000])('are the same in chunks of %i bytes', (size) => {
    const reader = new FrameReader()
    const read: string[] = []
    for (let at = 0; at < bytes.length; at += size)
      reader.read(bytes.subarray(at, at + size), (opcode, data, start, end) => {
        expect(opcode).toBe(OPCODE.text)
        read.push(data.toString('utf8', start, end))
      })
    expect(read).toEqual(texts)
  })

  it('of clients are masked with zero', () => {
    const frame = clientFrame(OPCODE.text, 'hello')
    expect([...frame.subarray(0, 6)]).toEqual([0x81, 0x85, 0, 0, 0, 0])
    expect(frame.subarray(6).toString()).toBe('hello')
    expect(() => clientFrame(OPCODE.text, 'x'.repeat(126))).toThrow(RangeError)
  })
})

describe('the sequence of an event', () => {
  const of = (text: string): number | undefined => {
    const data = Buffer.from(`before${text}after`)
    return seqOf(data, 6, data.length - 5)
  }

  it.each([0, 1, 9, 10, 12_345, 1_790_000_000_000])('is its last field: %i', (seq) => {
    expect(of(event(seq, '7'))).toBe(seq)
  })

  it('is missing in other messages', () => {
    expect(of('{"type":"subscribed","channel":"mempool"}')).toBeUndefined()
  })
})
