import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'

/** The fields of a node's JSON that are used here; all others are returned as they were recorded. */
export interface RecordedTx {
  readonly txid: string
  readonly hex: string
  readonly vin: readonly RecordedInput[]
  readonly vout: readonly {
    readonly n: number
    readonly value: number
    readonly scriptPubKey: { readonly hex: string; readonly desc: string }
  }[]
}

export interface RecordedInput {
  readonly txid?: string
  readonly vout?: number
  readonly prevout?: {
    readonly value: number
    readonly height: number
    readonly generated: boolean
    readonly scriptPubKey: { readonly hex: string; readonly desc: string }
  }
}

export interface RecordedBlock {
  readonly hash: string
  readonly height: number
  readonly time: number
  readonly previousblockhash?: string
  readonly tx: readonly RecordedTx[]
}

export interface RecordedFrame {
  readonly time: number
  readonly connected: readonly { readonly header: string; readonly block: RecordedBlock }[]
  readonly disconnected: readonly string[]
  readonly chaininfo: {
    readonly chain: string
    readonly blocks: number
    readonly bestblockhash: string
    /** A text, of later nodes a list. */
    readonly warnings: string | readonly string[]
  }
  readonly mempoolinfo: object
  readonly mempool: Readonly<Record<string, object>>
  readonly transactions: Readonly<Record<string, RecordedTx>>
}

/** The number of parsed frames to keep: clients request the blocks of few frames at a time. */
const KEEP = 64

/** A recording: its lines in memory, each parsed when it is needed. */
export class Timeline {
  readonly #lines: readonly Buffer[]
  readonly #parsed = new LRUCache<number, RecordedFrame>({
    max: KEEP,
    memoMethod: (index) => this.#parse(index),
  })

  private constructor(lines: readonly Buffer[]) {
    this.#lines = lines
  }

  /** Reads a recording. @param file JSON lines, gzipped if its name ends in .gz. @throws if it cannot be read or is empty. */
  static open(file: string): Timeline {
    const content = readFileSync(file)
    const text = file.endsWith('.gz') ? gunzipSync(content) : content
    const lines: Buffer[] = []
    for (let start = 0; start < text.length;) {
      const newline = text.indexOf(0x0a, start)
      const end = newline < 0 ? text.length : newline
      if (end > start) lines.push(text.subarray(start, end))
      start = end + 1
    }
    if (lines.length === 0) throw new Error(`${file} contains no frame`)
    return new Timeline(lines)
  }

  get length(): number {
    return this.#lines.length
  }

  frame(index: number): RecordedFrame {
    return this.#parsed.memo(index)
  }

  #parse(index: number): RecordedFrame {
    const line = this.#lines[index]
    if (line === undefined) throw new RangeError(`the recording has no frame ${String(index)}`)
    return JSON.parse(line.toString()) as RecordedFrame
  }
}
