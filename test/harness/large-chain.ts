import { SimChain } from '../../services/simnode/chain/sim-chain.js'
import type { SimTx } from '../../services/simnode/chain/sim-tx.js'
import type { TxOutput } from '../../pipelines/chain/transaction.js'

/** Bytes of the witness of a transaction of standard size. */
const WITNESS = 390_000
const PAYLOAD = 480_000
const COIN = 100_000_000n

/** A chain of transactions that are as large as their network allows, and the txids of some. */
export interface LargeChain {
  readonly chain: SimChain
  /** Txids of transactions with large witnesses, oldest first. */
  readonly witnessed: readonly string[]
  /** Txids of transactions with a large OP_RETURN payload, oldest first. */
  readonly payloads: readonly string[]
  /** The txid of a transaction with 15,000 outputs, each worth more than nothing, to different scripts. */
  readonly many: string
}

interface Counts {
  readonly witnessed: number
  readonly payloads: number
}

/** Mines the chain. The newest blocks have the transactions with large witnesses. */
export function largeChain({ witnessed, payloads }: Counts): LargeChain {
  const chain = new SimChain({ seed: 'large' })
  const plain = chain.keyring.ownerOf('p2wpkh').script
  const secret = chain.keyring.ownerOf('p2wsh').script
  const rewardOf = (payTo: Buffer) => ({
    txid: chain.read(chain.mine({ payTo })).txs[0]?.txid ?? '',
    vout: 0,
  })
  const first = rewardOf(secret)
  const count = witnessed + payloads
  // The reward of one block is split for all of them; each spends one output.
  const split = chain.pay({
    from: [first],
    to: Array.from({ length: count }, (): TxOutput => ({ value: 10_000n, script: secret })),
    change: plain,
  })
  chain.mine({ txs: [split], payTo: secret })
  const spend = (index: number, to: readonly TxOutput[], witness: readonly Buffer[]): SimTx =>
    chain.pay({
      from: [{ txid: split.txid, vout: index }],
      to,
      unlock: () => ({ scriptSig: Buffer.alloc(0), witness }),
    })
  const carriers = Array.from({ length: payloads }, (_, index) => {
    const head = Buffer.alloc(6)
    head.writeUInt8(0x6a)
    head.writeUInt8(0x4e, 1)
    head.writeUInt32LE(PAYLOAD, 2)
    const text = `payload ${String(index)} `
    return spend(index, [{ value: 0n, script: Buffer.concat([head, Buffer.alloc(PAYLOAD, text)]) }], [])
  })
  for (const tx of carriers) chain.mine({ txs: [tx] })
  const many = chain.pay({
    from: [rewardOf(plain)],
    to: Array.from({ length: 15_000 }, (_, index): TxOutput => {
      const script = Buffer.alloc(22)
      script.writeUInt16BE(0x0014)
      script.writeUInt32BE(index, 2)
      return { value: COIN / 10_000n, script }
    }),
  })
  chain.mine({ txs: [many] })
  const whole = Array.from({ length: witnessed }, (_, index) =>
    spend(
      payloads + index,
      [{ value: 9_000n, script: plain }],
      [Buffer.alloc(WITNESS, index), Buffer.from([0x51])],
    ),
  )
  for (let at = 0; at < whole.length; at += 10) chain.mine({ txs: whole.slice(at, at + 10) })
  return {
    chain,
    witnessed: whole.map(({ txid }) => txid),
    payloads: carriers.map(({ txid }) => txid),
    many: many.txid,
  }
}
