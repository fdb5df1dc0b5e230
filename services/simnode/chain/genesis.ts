import { blockHash, merkleRoot, serializeBlock, serializeHeader } from '../../../pipelines/chain/block.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { StartRefused } from '../../../pipelines/errors.js'
import { pushData } from '../wallet/keyring.js'
import { NO_TXID, sealTx, type SimTx } from './sim-tx.js'

/** The easiest target of regtest, that of all blocks but block 0: the simulator finds a block in two attempts on average. */
export const BITS = 0x207fffff

/** Block 0 of a network. Its coinbase is not part of the UTXO set, so its coins are not part of the supply. */
export interface Genesis {
  readonly hash: string
  readonly raw: Buffer
  readonly txid: string
  /** Unix seconds. */
  readonly time: number
}

/** A coinbase of block 0: the text of its script, its only output. */
interface Coinbase {
  readonly text: string
  /** Public key. */
  readonly key: string
  readonly value: bigint
}

const KEY =
  '04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f'
const BTQ = {
  text: 'BTQ genesis remine: quantum-safe launch baseline, 26/Feb/2026',
  key: KEY,
  value: 500_000_000n,
}
const BTQ_TEST = { ...BTQ, text: 'BTQ testnet genesis block 20260526' }
const BITCOIN = {
  text: 'The Times 03/Jan/2009 Chancellor on brink of second bailout for banks',
  key: KEY,
  value: 5_000_000_000n,
}
const BITCOIN_TESTNET4 = {
  text: '03/May/2024 000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e',
  key: '00'.repeat(33),
  value: 5_000_000_000n,
}

/** The blocks 0 of all networks: coinbase, time, bits and nonce. Source: the nodes' chainparams.cpp. */
const BLOCKS: readonly (readonly [Coinbase, number, number, number])[] = [
  [BTQ, 1_771_804_800, 0x1e0377ae, 12_582_602],
  [BTQ_TEST, 1_771_977_600, 0x1e0377ae, 2_443_007],
  [BTQ, 1_771_804_800, 0x1e0377ae, 2_666_531],
  [BTQ, 1_771_804_800, BITS, 3],
  [BITCOIN, 1_231_006_505, 0x1d00ffff, 2_083_236_893],
  [BITCOIN_TESTNET4, 1_714_777_860, 0x1d00ffff, 393_743_547],
  [BITCOIN, 1_296_688_602, 0x1d00ffff, 414_098_458],
  [BITCOIN, 1_598_918_400, 0x1e0377ae, 52_613_770],
  [BITCOIN, 1_296_688_602, BITS, 2],
]

/** Returns block 0 of a network, by its hash. @throws StartRefused for a chain whose block 0 is not known. */
export function genesisOf(network: Network): Genesis {
  for (const [coinbase, time, bits, nonce] of BLOCKS) {
    const tx = coinbaseTx(coinbase)
    const root = merkleRoot([tx.txid])
    const header = serializeHeader({ version: 1, prevHash: NO_TXID, merkleRoot: root, time, bits, nonce })
    const hash = blockHash(header, network)
    if (hash === network.genesisHash)
      return { hash, raw: serializeBlock(header, [tx.raw]), txid: tx.txid, time }
  }
  throw new StartRefused(`${network.name} cannot be simulated: the simulator does not have its block 0`)
}

function coinbaseTx({ text, key, value }: Coinbase): SimTx {
  const script = Buffer.concat([pushData(Buffer.from(key, 'hex')), Buffer.from('ac', 'hex')])
  // The bits of Bitcoin's first block and the number 4, on every network.
  const scriptSig = Buffer.concat([Buffer.from('04ffff001d0104', 'hex'), pushData(Buffer.from(text))])
  return sealTx({
    version: 1,
    locktime: 0,
    inputs: [{ prevTxid: NO_TXID, prevVout: 0xffffffff, scriptSig, sequence: 0xffffffff, witness: [] }],
    outputs: [{ value, script }],
  })
}
