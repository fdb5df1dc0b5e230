import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'

/** The compiled schema of a reply. Additional fields are allowed, because new versions of the node add some. */
export class Reply<T extends TSchema> {
  readonly #check: TypeCheck<T>

  constructor(schema: T) {
    this.#check = TypeCompiler.Compile(schema)
  }

  /** Returns the path and description of the first mismatch with the schema, undefined for a valid value. */
  mismatch(value: unknown): string | undefined {
    if (this.#check.Check(value)) return undefined
    const first = this.#check.Errors(value).First()
    return first === undefined ? 'does not match' : `${first.path || '/'}: ${first.message}`
  }

  /** Returns whether a value is valid. */
  is(value: unknown): value is Static<T> {
    return this.#check.Check(value)
  }
}

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Hex = Type.String()
const Height = Type.Integer({ minimum: 0, maximum: 0xffff_ffff })
const Count = Type.Integer({ minimum: 0 })
/** An amount in coins, as the node prints it; `coinsToBaseUnits` converts it. */
const Coins = Type.Number({ minimum: 0 })

const ChainInfo = Type.Object({
  chain: Type.String(),
  blocks: Height,
  /** Height of the best header. */
  headers: Type.Optional(Height),
  bestblockhash: Hash,
  /** The script that blocks of a signet satisfy, as hex; absent in old versions and on other networks. */
  signet_challenge: Type.Optional(Hex),
  initialblockdownload: Type.Optional(Type.Boolean()),
  /** The estimated part of the chain's transactions that the node has verified, from 0 to 1. */
  verificationprogress: Type.Optional(Type.Number()),
  /** Height of the lowest block that a pruned node still has; absent if the node keeps all blocks. */
  pruneheight: Type.Optional(Height),
})

const Tip = Type.Object({ hash: Hash, height: Height })

const ChainTxs = Type.Object({
  /** Absent if the node has not downloaded all blocks before it. */
  txcount: Type.Optional(Count),
})

const ChainSize = Type.Object({ size_on_disk: Count })

const MempoolInfo = Type.Object({
  size: Count,
  bytes: Count,
  usage: Count,
  total_fee: Type.Optional(Coins),
  maxmempool: Count,
  mempoolminfee: Coins,
  /** Absent in old versions. */
  minrelaytxfee: Type.Optional(Coins),
  /** Absent in old versions. */
  incrementalrelayfee: Type.Optional(Coins),
  unbroadcastcount: Count,
})

const NetworkInfo = Type.Object({
  /** Version as a number: 280100 for 28.1.0. Other coins count their own releases. */
  version: Type.Optional(Type.Integer()),
  /** Name and version, such as `/Satoshi:28.1.0/`. */
  subversion: Type.Optional(Type.String()),
  connections: Count,
  connections_in: Count,
  connections_out: Count,
})

const Prevout = Type.Object({
  value: Coins,
  height: Height,
  scriptPubKey: Type.Object({ hex: Hex }),
})

const BlockTx = Type.Object({
  txid: Hash,
  hex: Hex,
  /** `prevout` is absent in coinbases, and in replies of a node without undo data. */
  vin: Type.Array(Type.Object({ txid: Type.Optional(Hash), prevout: Type.Optional(Prevout) })),
})

/** Reply of getblock with verbosity 3. */
const Block = Type.Object({
  hash: Hash,
  height: Height,
  version: Type.Integer(),
  merkleroot: Hash,
  time: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  mediantime: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  nonce: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  bits: Type.String({ pattern: '^[0-9a-f]{8}$' }),
  chainwork: Hash,
  /** Absent at block 0. */
  previousblockhash: Type.Optional(Hash),
  tx: Type.Array(BlockTx, { minItems: 1 }),
})

const MempoolEntry = Type.Object({
  /** Weight of the transaction: at least its size in bytes. */
  weight: Count,
  time: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  fees: Type.Object({ base: Coins }),
})

const TxOut = Type.Union([
  Type.Null(),
  Type.Object({ value: Coins, scriptPubKey: Type.Object({ hex: Hex }) }),
])

const TxOutSet = Type.Object({ height: Height, bestblock: Hash, txouts: Type.Integer(), total_amount: Coins })

const ScannedSet = Type.Object({
  height: Height,
  bestblock: Hash,
  unspents: Type.Array(
    Type.Object({
      txid: Hash,
      vout: Type.Integer(),
      scriptPubKey: Hex,
      amount: Coins,
      height: Height,
      // From Bitcoin Core 26 on.
      coinbase: Type.Optional(Type.Boolean()),
    }),
  ),
})

/** Reply of getmempoolinfo: sizes in bytes, fee rates in coins per kvB. */
export type NodeMempoolInfo = Static<typeof MempoolInfo>
export type NodeNetworkInfo = Static<typeof NetworkInfo>
export type NodeTip = Static<typeof Tip>
export type NodeChainInfo = Static<typeof ChainInfo>
/** Reply of getblock with verbosity 3. */
export type NodeBlock = Static<typeof Block>
export type NodeBlockTx = Static<typeof BlockTx>
export type NodeTxOut = Static<typeof TxOut>
export type NodeScannedSet = Static<typeof ScannedSet>
export type NodeMempoolEntry = Static<typeof MempoolEntry>

export const chainInfoReply = new Reply(ChainInfo)
/** Schema of waitfornewblock. */
export const newBlockReply = new Reply(Tip)
/** Schema of gettxoutsetinfo. */
export const txOutSetReply = new Reply(TxOutSet)
/** Schema of scantxoutset start. */
export const scannedSetReply = new Reply(ScannedSet)
/** Schema of getchaintxstats. */
export const chainTxsReply = new Reply(ChainTxs)
/** Schema of getblockchaininfo with only the size. */
export const chainSizeReply = new Reply(ChainSize)
export const mempoolInfoReply = new Reply(MempoolInfo)
export const networkInfoReply = new Reply(NetworkInfo)
/** Schema of uptime, in seconds. Negative if the node's clock is set to a time before its start (`setmocktime`). */
export const uptimeReply = new Reply(Type.Integer())
/** Reply of gettxout: null for an output that is spent or unknown. */
export const txOutReply = new Reply(TxOut)
export const blockReply = new Reply(Block)
/** Reply of getrawtransaction with verbosity 2 for a transaction of a block: before Bitcoin Core 25 without prevouts. */
export const transactionReply = new Reply(BlockTx)
export const blockHashReply = new Reply(Hash)
/** Schema of sendrawtransaction. */
export const txidReply = new Reply(Hash)
/** Schema of getmempoolentry. */
export const mempoolEntryReply = new Reply(MempoolEntry)
/** Schema of getrawmempool true: entries by txid. */
export const mempoolReply = new Reply(Type.Record(Type.String({ pattern: '^[0-9a-f]{64}$' }), MempoolEntry))
/** Schema of getrawmempool false. */
export const mempoolTxidsReply = new Reply(Type.Array(Hash))
/** Schema of getrawtransaction and getblock with verbosity 0. */
export const smartFeeReply = new Reply(Type.Object({ feerate: Type.Optional(Type.Number()) }))
export const rawHexReply = new Reply(Type.String({ pattern: '^([0-9a-f]{2})+$' }))
