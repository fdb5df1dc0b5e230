import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ByteReader, ByteWriter } from '../../../pipelines/chain/bytes.js'
import { internalBytes, reverseHex } from '../../../pipelines/chain/hash.js'
import { findNetwork, type Network, REGTEST } from '../../../pipelines/chain/networks.js'
import { StartRefused } from '../../../pipelines/errors.js'
import { Coin } from './coin-set.js'
import { FileStore } from './file-store.js'
import { type ChainOptions, SimChain } from './sim-chain.js'
import { readCoin, writeCoin } from './undo.js'

/** The first four bytes of a snapshot; a changed format needs another number. */
const MAGIC = 0x48575332

/**
 * Opens the chain in a folder: `blocks.dat` and `index.dat` (see FileStore), `chain.json` (the identity of the chain), and
 * `snapshot.dat`: the coins of the tip and the transaction index, so that not all blocks need to be replayed. Without a snapshot,
 * or with an old one, the missing state is replayed from the blocks.
 */
export function openChain(directory: string, options: Omit<ChainOptions, 'store'>): SimChain {
  mkdirSync(directory, { recursive: true })
  claim(directory, options.network ?? REGTEST, options.seed ?? 'headwater')
  const store = new FileStore(directory)
  const chain = new SimChain({ ...options, store })
  const { network, genesis } = chain
  if (genesis.hash !== network.genesisHash)
    throw new StartRefused(
      `${directory} contains a chain that does not begin with block 0 of ${network.name}, simulated by an earlier version: use another folder (DATA_DIR), or delete its contents`,
    )
  readSnapshot(chain, directory)
  const { tip } = store.heads()
  for (let number = chain.txIndex.blocks; number < chain.blocks.size; number++) {
    chain.txIndex.add(chain.read(chain.numbered(number)).txs.map((tx) => tx.txid))
  }
  if (tip > 0 && chain.tip.number !== tip) chain.setTip(chain.numbered(tip).hash)
  return chain
}

/** Removes the chain from a folder. It must not be open. */
export function eraseChain(directory: string): void {
  for (const name of ['blocks.dat', 'index.dat', 'snapshot.dat', 'chain.json'])
    rmSync(join(directory, name), { force: true })
}

/** Writes the snapshot: the coins of the tip and the transaction index. */
export function writeSnapshot({ store, tip, coins, txIndex }: SimChain, directory: string): void {
  store.flush()
  const writer = new ByteWriter(1024 + coins.size * 80)
  writer.u32(MAGIC).u32(tip.number).bytes(internalBytes(tip.hash)).u32(coins.size)
  for (const coin of coins.coins) {
    writer.bytes(internalBytes(coin.txid)).compactSize(coin.vout)
    writeCoin(writer, coin)
  }
  writer.u32(txIndex.blocks)
  for (const [mark, block] of txIndex.entries()) writer.u32(mark).u32(block)
  const draft = join(directory, 'snapshot.new')
  writeFileSync(draft, writer.finish())
  renameSync(draft, join(directory, 'snapshot.dat'))
}

function readSnapshot(chain: SimChain, directory: string): void {
  const file = join(directory, 'snapshot.dat')
  if (!existsSync(file)) return
  const reader = new ByteReader(readFileSync(file))
  if (reader.u32() !== MAGIC) return
  const number = reader.u32()
  const hash = reverseHex(reader.bytes(32))
  // The end of the block file, with the tip of the snapshot, may have been lost in a crash.
  if (number >= chain.blocks.size || chain.numbered(number).hash !== hash) return
  for (let left = reader.u32(); left > 0; left--) {
    const txid = reverseHex(reader.bytes(32))
    const vout = reader.compactSize()
    const { value, script, height, coinbase } = readCoin(reader)
    chain.coins.add(new Coin(txid, vout, value, chain.keyring.keep(script), height, coinbase))
  }
  chain.txIndex.blocks = reader.u32()
  while (reader.remaining > 0) chain.txIndex.put(reader.u32(), reader.u32())
  chain.adopt(chain.numbered(number))
}

function claim(directory: string, network: Network, seed: string): void {
  const file = join(directory, 'chain.json')
  if (!existsSync(file)) {
    writeFileSync(file, `${JSON.stringify({ identity: `${network.name} ${seed}` })}\n`)
    return
  }
  const content = readFileSync(file, 'utf8').trim()
  const { identity = '' } = JSON.parse(content) as { readonly identity?: string }
  const [name = '', ...words] = identity.split(' ')
  // The name may be that of an earlier version.
  if ((findNetwork(name)?.name ?? name) === network.name && words.join(' ') === seed) return
  throw new StartRefused(
    `${directory} contains another chain (${identity}, wanted ${network.name} ${seed}): use another folder (DATA_DIR), or delete its contents`,
  )
}
