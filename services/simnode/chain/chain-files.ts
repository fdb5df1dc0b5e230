import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ByteReader, ByteWriter } from '../../../pipelines/chain/bytes.js'
import { internalBytes, reverseHex } from '../../../pipelines/chain/hash.js'
import { Coin } from './coin-set.js'
import { FileStore } from './file-store.js'
import { type ChainOptions, SimChain } from './sim-chain.js'

const MAGIC = 0x48575331

/** Thrown for a folder that holds another chain. */
export class ForeignChain extends Error {
  override readonly name = 'ForeignChain'
}

/**
 * The chain kept in a folder: `blocks.dat` and `index.dat` (see FileStore), `chain.json` (which chain it is), and
 * `snapshot.dat`: the tip's coins and the transaction index, so that opening need not replay everything. Without a
 * snapshot, or with an old one, what is missing is replayed from the blocks.
 */
export function openChain(directory: string, options: Omit<ChainOptions, 'store'>): SimChain {
  mkdirSync(directory, { recursive: true })
  claim(directory, `${options.chain ?? 'regtest'} ${options.seed ?? 'headwater'}`)
  const store = new FileStore(directory)
  const chain = new SimChain({ ...options, store })
  readSnapshot(chain, directory)
  const { tip } = store.heads()
  for (let number = chain.txIndex.blocks; number < chain.blocks.size; number++) {
    chain.txIndex.add(chain.read(chain.numbered(number)).txs.map((tx) => tx.txid))
  }
  if (tip > 0 && chain.tip.number !== tip) chain.setTip(chain.numbered(tip).hash)
  return chain
}

/** Removes the chain of a folder, which must not be open. */
export function eraseChain(directory: string): void {
  for (const name of ['blocks.dat', 'index.dat', 'snapshot.dat', 'chain.json'])
    rmSync(join(directory, name), { force: true })
}

/** Writes down the coins of the tip, and the transaction index. */
export function writeSnapshot(chain: SimChain, directory: string): void {
  chain.store.flush()
  const writer = new ByteWriter(1024 + chain.coins.size * 80)
  const index = chain.txIndex.dump()
  writer.u32(MAGIC).u32(chain.tip.number).bytes(internalBytes(chain.tip.hash)).u32(chain.coins.size)
  for (const coin of chain.coins.coins) {
    writer.bytes(internalBytes(coin.txid)).compactSize(coin.vout)
    writer
      .compactSize((coin.height ?? 0) * 2 + (coin.coinbase ? 1 : 0))
      .u64(coin.value)
      .sized(coin.script)
  }
  writer.u32(index.count).u32(index.firsts.length).u32(index.marks.length)
  const draft = join(directory, 'snapshot.new')
  writeFileSync(
    draft,
    [writer.finish(), index.firsts, index.marks, index.ordinals].reduce(joined, Buffer.alloc(0)),
  )
  renameSync(draft, join(directory, 'snapshot.dat'))
}

function readSnapshot(chain: SimChain, directory: string): void {
  const file = join(directory, 'snapshot.dat')
  if (!existsSync(file)) return
  const bytes = readFileSync(file)
  const reader = new ByteReader(bytes)
  if (reader.u32() !== MAGIC) return
  const number = reader.u32()
  const hash = reverseHex(reader.bytes(32))
  // The block file may have lost its end in a crash, and the snapshot's tip with it.
  if (number >= chain.blocks.size || chain.numbered(number).hash !== hash) return
  for (let left = reader.u32(); left > 0; left--) {
    const txid = reverseHex(reader.bytes(32))
    const vout = reader.compactSize()
    const code = reader.compactSize()
    const value = reader.u64()
    const script = chain.keyring.keep(reader.bytes(reader.compactSize()))
    chain.coins.add(new Coin(txid, vout, value, script, Math.floor(code / 2), code % 2 === 1))
  }
  const count = reader.u32()
  const blocks = reader.u32()
  const slots = reader.u32()
  const words = (length: number): Uint32Array<ArrayBuffer> => {
    // Copied: a typed array may not begin at any byte.
    const copy = new Uint8Array(reader.bytes(length * 4))
    return new Uint32Array(copy.buffer)
  }
  chain.txIndex.restore({ count, firsts: words(blocks), marks: words(slots), ordinals: words(slots) })
  chain.adopt(chain.numbered(number))
}

function claim(directory: string, identity: string): void {
  const file = join(directory, 'chain.json')
  const held = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  const wanted = `${JSON.stringify({ identity })}\n`
  if (held === undefined) writeFileSync(file, wanted)
  else if (held !== wanted) {
    throw new ForeignChain(
      `${directory} holds another chain (${held.trim()}, wanted ${wanted.trim()}): take another folder, or empty it`,
    )
  }
}

function joined(before: Buffer, part: Buffer | Uint32Array): Buffer {
  return Buffer.concat([before, Buffer.from(part.buffer, part.byteOffset, part.byteLength)])
}
