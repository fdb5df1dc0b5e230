import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { ElectrumMessage } from './electrum-client.js'

/** The recording of a chain of Bitcoin for which there are answers of ElectrumX. */
export const ELECTRUM_RECORDING = 'bitcoin-regtest'

/** A call of the reference server, and its answer. */
export interface RecordedCall extends Pick<ElectrumMessage, 'result' | 'error'> {
  readonly protocol: string
  readonly method: string
  readonly params: unknown
}

/** Bytes that were sent to the reference server, and the lines that came. */
export interface RecordedBytes {
  readonly protocol: string | null
  readonly case: string
  readonly handshake: boolean
  readonly handshake_line?: string
  readonly send?: string | readonly string[]
  readonly send_hex?: string
  readonly receive: readonly string[]
  readonly closed: boolean
}

/** Reads the answers of ElectrumX; its README describes their source. */
export function readElectrumRecording(): readonly (RecordedCall | RecordedBytes)[] {
  const file = new URL(`../recording/${ELECTRUM_RECORDING}/electrum.jsonl.br`, import.meta.url)
  const lines = brotliDecompressSync(readFileSync(file)).toString().trim().split('\n')
  return lines.map((line) => JSON.parse(line) as RecordedCall | RecordedBytes)
}

/** The results of ElectrumX by method and parameters. */
export class RecordedResults {
  readonly #results = new Map<string, unknown>()
  readonly #params = new Map<string, unknown[][]>()

  constructor(protocol: string) {
    for (const each of readElectrumRecording()) {
      if (!('method' in each) || each.protocol !== protocol || each.result === undefined) continue
      const { method, params, result } = each
      if (!Array.isArray(params)) continue
      this.#results.set(JSON.stringify([method, ...(params as unknown[])]), result)
      this.#params.set(method, [...(this.#params.get(method) ?? []), params])
    }
  }

  /** Returns a result. @throws Error if it was not recorded. */
  of(method: string, ...params: readonly unknown[]): unknown {
    const result = this.#results.get(JSON.stringify([method, ...params]))
    if (result === undefined) throw new Error(`not recorded: ${method} ${JSON.stringify(params)}`)
    return result
  }

  /** Returns the parameters of each recorded call of a method that has a result. */
  paramsOf(method: string): readonly (readonly unknown[])[] {
    return this.#params.get(method) ?? []
  }
}

interface Unspent {
  readonly height: number
  readonly tx_hash: string
  readonly tx_pos: number
}

/** Returns unspent outputs with the unconfirmed ones, which come in any order, sorted. */
export function sortedUnspent(result: unknown): unknown {
  const outputs = result as readonly Unspent[]
  const keyOf = ({ tx_hash, tx_pos }: Unspent): string => `${tx_hash} ${String(tx_pos)}`
  const unconfirmed = outputs.filter(({ height }) => height === 0)
  unconfirmed.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  return [...outputs.filter(({ height }) => height > 0), ...unconfirmed]
}

/** Returns the verbose form of a transaction without what the recorded node adds: the outputs that it spends, as `getblock` shows them. */
export function withoutSpent(result: unknown): unknown {
  return JSON.parse(JSON.stringify({ ...(result as object), fee: undefined }), (key, value: unknown) =>
    key === 'prevout' ? undefined : value,
  )
}
