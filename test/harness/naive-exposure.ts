import { baseUnits, type NodeBlock, type NodeInput } from './node-json.js'

/** The figures of the unspent outputs of one type of scripts. Amounts in base units. */
export interface NaiveType {
  readonly value: bigint
  readonly exposed: bigint
  readonly protected: bigint
  readonly outputs: number
  readonly funded: number
}

/** A transaction that shows a key. */
export interface NaiveRevelation {
  readonly txid: string
  readonly block_height: number
  readonly vin: number | null
  readonly vout: number | null
}

interface Script {
  readonly type: string
  value: bigint
  outputs: number
  /** A flag for each spend: true if it contained a Dilithium signature. */
  readonly spends: boolean[]
  /** The first output that pays it, and the first spend of it without a Dilithium signature. */
  readonly paidBy: NaiveRevelation
  shownBy?: NaiveRevelation
}

interface Coin {
  readonly script: Script
  readonly value: bigint
}

/** The types of scripts that contain a key. */
const SHOWING = ['pubkey', 'multisig', 'witness_v1_taproot']

/** The types as the node names them. On the Dilithium chain it names every P2SH output as if it was of Dilithium. */
const typeOf = (type: string): string => (type === 'dilithium_scripthash' ? 'scripthash' : type)

/** The oracle of exposure: the unspent outputs and the spends of each script, from the node's JSON alone. */
export class NaiveExposure {
  readonly #scripts = new Map<string, Script>()
  readonly #coins = new Map<string, Coin>()

  constructor(private readonly hasDilithiumSignature: (input: NodeInput) => boolean) {}

  push({ tx, height }: NodeBlock): void {
    for (const { txid, vin, vout } of tx) {
      for (const [index, input] of vin.entries()) {
        const outpoint = `${String(input.txid)}:${String(input.vout)}`
        const coin = this.#coins.get(outpoint)
        if (coin === undefined) continue
        this.#remove(outpoint, coin)
        const isDilithium = this.hasDilithiumSignature(input)
        coin.script.spends.push(isDilithium)
        if (!isDilithium) coin.script.shownBy ??= { txid, block_height: height, vin: index, vout: null }
      }
      for (const { n, value, scriptPubKey } of vout) {
        const { hex, type } = scriptPubKey
        if (height === 0 || hex.startsWith('6a') || hex.length > 20_000) continue
        const script = this.#scripts.get(hex) ?? {
          type: typeOf(type),
          value: 0n,
          outputs: 0,
          spends: [],
          paidBy: { txid, block_height: height, vin: null, vout: n },
        }
        this.#scripts.set(hex, script)
        const outpoint = `${txid}:${String(n)}`
        const lost = this.#coins.get(outpoint)
        if (lost !== undefined) this.#remove(outpoint, lost)
        this.#coins.set(outpoint, { script, value: baseUnits(value) })
        script.value += baseUnits(value)
        script.outputs++
      }
    }
  }

  /** Returns the figures of a type after the last block. */
  figuresOf(type: string): NaiveType {
    const scripts = [...this.#scripts.values()].filter((script) => script.type === type && script.outputs > 0)
    const valueOf = (protection?: string): bigint =>
      scripts
        .filter((script) => protection === undefined || protectionOf(script) === protection)
        .reduce((sum, { value }) => sum + value, 0n)
    return {
      value: valueOf(),
      exposed: valueOf('exposed'),
      protected: valueOf('protected'),
      outputs: scripts.reduce((sum, { outputs }) => sum + outputs, 0),
      funded: scripts.filter(({ value }) => value > 0n).length,
    }
  }

  /** Returns the protection of a script, as hex, that was ever paid. */
  protectionOf(script: string): string | undefined {
    const found = this.#scripts.get(script)
    return found === undefined ? undefined : protectionOf(found)
  }

  /** Returns the first transaction that shows a key of a script, as hex, by the script or a spend of it. */
  revelationOf(script: string): NaiveRevelation | undefined {
    const found = this.#scripts.get(script)
    if (found === undefined || protectionOf(found) !== 'exposed') return undefined
    return SHOWING.includes(found.type) ? found.paidBy : found.shownBy
  }

  #remove(outpoint: string, { script, value }: Coin): void {
    this.#coins.delete(outpoint)
    script.value -= value
    script.outputs--
  }
}

function protectionOf({ type, spends }: Script): string {
  if (SHOWING.includes(type)) return 'exposed'
  if (['nonstandard', 'anchor', 'witness_unknown'].includes(type)) return 'unknown'
  if (type.startsWith('dilithium_')) return 'protected'
  if (spends.includes(false)) return 'exposed'
  return spends.length > 0 || type === 'witness_v2_p2mr' ? 'protected' : 'hidden'
}
