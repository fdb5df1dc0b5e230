import { REGTEST } from '../../../pipelines/chain/networks.js'
import { baseUnitsToCoins } from '../../../pipelines/chain/amount.js'
import { blockHash, merkleRoot, serializeHeader } from '../../../pipelines/chain/block.js'
import { parseTx, serializeTx, type Tx } from '../../../pipelines/chain/transaction.js'

export const NONE = '0'.repeat(64)

export interface FakeTx extends Tx {
  readonly raw: Buffer
  readonly prevouts: readonly { value: bigint; script: Buffer; height: number }[]
}

export interface FakeBlock {
  readonly hash: string
  readonly height: number
  readonly prevHash: string
  readonly header: Buffer
  readonly time: number
  readonly work: string
  readonly txs: readonly FakeTx[]
}

let salt = 0

/** A transaction that pays one output; `spends` are outputs of others. */
export function tx(...spends: FakeTx[]): FakeTx {
  const inputs =
    spends.length === 0
      ? [
          {
            prevTxid: NONE,
            prevVout: 0xffff_ffff,
            scriptSig: number(salt++),
            sequence: 0xffff_ffff,
            witness: [],
          },
        ]
      : spends.map((each) => ({
          prevTxid: each.txid,
          prevVout: 0,
          scriptSig: number(salt++),
          sequence: 0,
          witness: [],
        }))
  const outputs = [{ value: 100_000_000n, script: Buffer.from(`0014${'ab'.repeat(20)}`, 'hex') }]
  const raw = serializeTx({ version: 2, locktime: 0, inputs, outputs }, false)
  const prevouts = spends.map((each) => ({
    value: each.outputs[0]?.value ?? 0n,
    script: each.outputs[0]?.script ?? raw,
    height: 1,
  }))
  return { ...parseTx(raw), raw, prevouts }
}

/** A block on top of a chain, with a coinbase and these transactions. Each has one unit of work. */
export function blockOn(chain: readonly FakeBlock[], txs: readonly FakeTx[] = [], work = 2n): FakeBlock {
  const parent = chain.at(-1)
  const all = [tx(), ...txs]
  const time = (parent?.time ?? 1_771_804_740) + 60
  const prevHash = parent?.hash ?? NONE
  const root = merkleRoot(all.map((each) => each.txid))
  const header = serializeHeader({
    version: 1,
    prevHash,
    merkleRoot: root,
    time,
    bits: 0x207fffff,
    nonce: salt++,
  })
  const total = BigInt(`0x${parent?.work ?? '0'}`) + work
  return {
    hash: blockHash(header, REGTEST),
    height: chain.length,
    prevHash,
    header,
    time,
    work: total.toString(16).padStart(64, '0'),
    txs: all,
  }
}

/** A chain that extends another by a number of blocks with only a coinbase. */
export function grow(chain: readonly FakeBlock[], count: number, work = 2n): FakeBlock[] {
  const grown = [...chain]
  for (let i = 0; i < count; i++) grown.push(blockOn(grown, [], work))
  return grown
}

/** Another branch from a height on, with this number of blocks above it. */
export function forkAt(chain: readonly FakeBlock[], height: number, count: number, work = 2n): FakeBlock[] {
  return grow(chain.slice(0, height + 1), count, work)
}

/** The answer of getblock with verbosity 3. */
export function blockJson(block: FakeBlock): Record<string, unknown> {
  return {
    hash: block.hash,
    height: block.height,
    version: 1,
    merkleroot: merkleRoot(block.txs.map((each) => each.txid)),
    time: block.time,
    mediantime: block.time,
    nonce: block.header.readUInt32LE(76),
    bits: '207fffff',
    chainwork: block.work,
    ...(block.height === 0 ? {} : { previousblockhash: block.prevHash }),
    aFieldOfTheNextRelease: true,
    tx: block.txs.map((each) => ({
      txid: each.txid,
      hex: each.raw.toString('hex'),
      vin: each.inputs.map((input, i) => {
        const prevout = each.prevouts[i]
        if (prevout === undefined) return { coinbase: '00', sequence: input.sequence }
        const { value, script, height } = prevout
        const reported = {
          value: baseUnitsToCoins(value),
          height,
          generated: false,
          scriptPubKey: { hex: script.toString('hex') },
        }
        return { txid: input.prevTxid, vout: input.prevVout, sequence: input.sequence, prevout: reported }
      }),
    })),
  }
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
