import { heightPush } from '../../../pipelines/chain/block.js'
import type { TxOutput } from '../../../pipelines/chain/transaction.js'
import { dataScript, type Keyring, type OwnerKind, pushData } from '../wallet/keyring.js'

/** A mining pool: its tag in the coinbase script and the script that is paid. */
export interface MiningPool {
  readonly tag: string
  readonly script: Buffer
  readonly share: number
  /** The script of an output before the payout, as in merged mining: the first output does not pay the miner. */
  readonly preamble: Buffer | undefined
}

const POOLS: readonly { tag: string; kind: OwnerKind; share: number; preamble?: string }[] = [
  { tag: '/ViaBTC/Mined by quarry/', kind: 'p2wpkh', share: 30 },
  { tag: '/F2Pool/', kind: 'p2pkh', share: 22 },
  { tag: '/Foundry USA Pool #dropgold/', kind: 'p2wpkh', share: 18 },
  { tag: '/AntPool/', kind: 'p2tr', share: 10, preamble: 'RSKBLOCK:simulated' },
  { tag: '/quantum-solo/', kind: 'p2mr', share: 10 },
  { tag: '', kind: 'dilithium-pubkeyhash', share: 6 },
  { tag: '', kind: 'p2pk', share: 4 },
]

/** The pools of a chain without Dilithium signatures. */
const BITCOIN_POOLS: typeof POOLS = [
  ...POOLS.slice(0, 4),
  { tag: '', kind: 'p2sh-multisig', share: 10 },
  { tag: '', kind: 'p2pkh', share: 6 },
  { tag: '', kind: 'p2pk-uncompressed', share: 4 },
]

/** Returns the mining pools of a chain, each with a payout script of its own. */
export function miningPools(keyring: Keyring): MiningPool[] {
  const pools = keyring.network.dilithium === undefined ? BITCOIN_POOLS : POOLS
  return pools.map(({ tag, kind, share, preamble }, at) => ({
    tag,
    share,
    script: keyring.ownerOf(kind, 100 + at).script,
    preamble: preamble === undefined ? undefined : dataScript(Buffer.from(preamble)),
  }))
}

/** Returns the outputs of the coinbase before the witness commitment. */
export function payout(pool: MiningPool, value: bigint): TxOutput[] {
  const output = { value, script: pool.script }
  return pool.preamble === undefined ? [output] : [{ value: 0n, script: pool.preamble }, output]
}

/** Returns the coinbase script: the height (BIP 34), the pool's tag, and an extra nonce, so that two blocks at one height differ. */
export function coinbaseScript(height: number, tag: string, extraNonce: Buffer): Buffer {
  const tagPush = tag === '' ? Buffer.alloc(0) : pushData(Buffer.from(tag))
  return Buffer.concat([heightPush(height), tagPush, pushData(extraNonce)])
}
