import { difficultyOf } from '../../../pipelines/chain/difficulty.js'
import {
  hashParameter,
  INVALID_PARAMETER,
  METHOD_NOT_FOUND,
  NOT_FOUND,
  type Params,
  JsonRpcError,
  scriptToScan,
  TYPE_ERROR,
} from '../../http/json-rpc.js'
import { blockJson, chainwork, coins, openHeaderJson, openTxJson, spentBy } from './block-json.js'
import { blockStatsJson } from './block-stats.js'
import { sendRawTransaction, testMempoolAccept } from './broadcast.js'
import type { Dialect } from '../dialect.js'
import { entryJson, mempoolIdsJson, mempoolInfoJson, mempoolJson } from './mempool-json.js'
import { ScriptJson } from './script-json.js'
import type { SimBlock } from '../chain/sim-block.js'
import type { Simulation } from '../simulation.js'

type Method = (params: Params) => string

/** The RPC methods of the node, on a simulation. Every result is JSON text. */
export class Rpc {
  readonly #methods: ReadonlyMap<string, Method>
  readonly #scripts: ScriptJson

  constructor(readonly simulation: Simulation) {
    this.#scripts = new ScriptJson(simulation.chain.network)
    this.#methods = new Map<string, Method>([
      ['getblockchaininfo', () => this.#chainInfo()],
      ['getblockcount', () => String(this.#chain.tip.height)],
      ['getbestblockhash', () => `"${this.#chain.tip.hash}"`],
      // The server has waited for the tip to change.
      [
        'waitfornewblock',
        () => `{"hash":"${this.#chain.tip.hash}","height":${String(this.#chain.tip.height)}}`,
      ],
      ['getblockhash', ([height]) => `"${this.#blockAt(height).hash}"`],
      ['getblockheader', (params) => this.#header(params)],
      ['getblock', (params) => this.#block(params)],
      ['getblockstats', ([which]) => blockStatsJson(this.#chain, this.#blockBy(which))],
      ['getchaintips', () => this.#chainTips()],
      [
        'getrawmempool',
        ([verbose]) => (verbose === true ? mempoolJson(this.#mempool) : mempoolIdsJson(this.#mempool)),
      ],
      ['getmempoolentry', ([txid]) => this.#mempoolEntry(txid)],
      ['getmempoolinfo', () => mempoolInfoJson(this.#mempool, this.#scripts.dialect)],
      ['getrawtransaction', (params) => this.#transaction(params)],
      ['sendrawtransaction', (params) => sendRawTransaction(this.simulation, params)],
      ['testmempoolaccept', (params) => testMempoolAccept(this.simulation, params)],
      ['gettxout', (params) => this.#txOut(params)],
      ['gettxoutsetinfo', () => this.#txOutSet()],
      ['scantxoutset', (params) => this.#scan(params)],
      ['getnetworkinfo', () => networkInfoJson(this.#scripts.dialect)],
      ['getpeerinfo', () => '[]'],
      ['getconnectioncount', () => '0'],
      ['getdifficulty', () => difficultyOf(this.#chain.tip.bits)],
      ['getnetworkhashps', (params) => this.#hashRate(params)],
      ['uptime', () => String(Math.floor(process.uptime()))],
    ])
  }

  /** Calls a method. @returns the result as JSON. @throws JsonRpcError */
  call(method: string, params: Params): string {
    const handler = this.#methods.get(method)
    if (handler === undefined) throw new JsonRpcError(METHOD_NOT_FOUND, 'Method not found')
    return handler(params)
  }

  get #chain(): Simulation['chain'] {
    return this.simulation.chain
  }

  get #mempool(): Simulation['mempool'] {
    return this.simulation.mempool
  }

  #chainInfo(): string {
    const { tip, network, store } = this.#chain
    const { signetChallenge } = network
    const challenge = signetChallenge === undefined ? '' : `,"signet_challenge":"${signetChallenge}"`
    return (
      `{"chain":"${network.nodeName}","blocks":${String(tip.height)},"headers":${String(tip.height)},"bestblockhash":"${tip.hash}",` +
      `"difficulty":${difficultyOf(tip.bits)},"time":${String(tip.time)},"mediantime":${String(tip.medianTime)},"verificationprogress":1,` +
      `"initialblockdownload":${String(tip.height === 0)},"chainwork":"${chainwork(tip)}",` +
      `"size_on_disk":${String(store.bytes)},"pruned":false${challenge},"warnings":${JSON.stringify(this.#scripts.dialect.warnings)}}`
    )
  }

  #blockAt(height: unknown): SimBlock {
    if (typeof height !== 'number')
      throw new JsonRpcError(TYPE_ERROR, 'JSON value of type string is not of expected type number')
    const block = this.#chain.at(height)
    if (block === undefined) throw new JsonRpcError(INVALID_PARAMETER, 'Block height out of range')
    return block
  }

  #blockBy(which: unknown): SimBlock {
    if (typeof which === 'number') return this.#blockAt(which)
    const block = this.#chain.get(hashParameter(which))
    if (block === undefined) throw new JsonRpcError(NOT_FOUND, 'Block not found')
    return block
  }

  #header([hash, verbose = true]: Params): string {
    const block = this.#blockBy(hash)
    const header = this.#chain.store.header(block.number)
    return verbose === false
      ? `"${header.toString('hex')}"`
      : `${openHeaderJson(this.#chain, block, header)}}`
  }

  #block([hash, verbosity = 1]: Params): string {
    const block = this.#blockBy(hash)
    const level = Number(verbosity)
    if (level <= 0) return `"${this.#chain.store.read(block.number).raw.toString('hex')}"`
    return blockJson(this.#chain, block, level === 1 ? 1 : level === 2 ? 2 : 3, this.#scripts)
  }

  /** Returns the active tip and the last block of every other branch. */
  #chainTips(): string {
    const tips = this.#chain.leaves().map(({ block, branchLength }) => {
      const status = block === this.#chain.tip ? 'active' : 'valid-fork'
      return `{"height":${String(block.height)},"hash":"${block.hash}","branchlen":${String(branchLength)},"status":"${status}"}`
    })
    return `[${tips.join(',')}]`
  }

  #mempoolEntry(txid: unknown): string {
    const entry = typeof txid === 'string' ? this.#mempool.get(txid) : undefined
    if (entry === undefined) throw new JsonRpcError(NOT_FOUND, 'Transaction not in mempool')
    return entryJson(this.#mempool, entry)
  }

  #transaction([txid, verbosity = 0, blockHash]: Params): string {
    if (typeof txid !== 'string')
      throw new JsonRpcError(TYPE_ERROR, 'JSON value is not of expected type string')
    const level = Number(verbosity)
    const isAnywhere = blockHash === undefined || blockHash === null
    const entry = isAnywhere ? this.#mempool.get(txid) : undefined
    if (entry !== undefined) {
      return level === 0 ? `"${entry.tx.raw.toString('hex')}"` : `${openTxJson(entry.tx, this.#scripts)}}`
    }
    const location = isAnywhere ? this.#chain.findTx(txid) : this.#inBlock(txid, this.#blockBy(blockHash))
    const tx = location?.content.txs[location.index]
    if (location === undefined || tx === undefined || location.block.height === 0) {
      throw new JsonRpcError(
        NOT_FOUND,
        'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.',
      )
    }
    if (level === 0) return `"${tx.raw.toString('hex')}"`
    const { block } = location
    const active = this.#chain.isActive(block)
    const spent = level >= 2 ? spentBy(location.content, location.index) : undefined
    const times = `,"time":${String(block.time)},"blocktime":${String(block.time)}`
    return (
      `${openTxJson(tx, this.#scripts, { spent, withPrevouts: level >= 2 })},"blockhash":"${block.hash}",` +
      `"confirmations":${String(active ? this.#chain.tip.height - block.height + 1 : 0)}${active ? times : ''}}`
    )
  }

  #inBlock(txid: string, block: SimBlock): ReturnType<Simulation['chain']['findTx']> {
    const content = this.#chain.read(block)
    const index = content.txs.findIndex((tx) => tx.txid === txid)
    return index < 0 ? undefined : { block, content, index }
  }

  #txOut([txid, vout, withMempool = true]: Params): string {
    const { tip } = this.#chain
    const confirmed = this.#chain.coins.get(String(txid), Number(vout))
    const spentInMempool = confirmed !== undefined && withMempool === true && this.#mempool.isSpent(confirmed)
    const coin = spentInMempool
      ? undefined
      : (confirmed ?? this.#mempool.coins.get(String(txid), Number(vout)))
    if (coin === undefined) return 'null'
    return (
      `{"bestblock":"${tip.hash}","confirmations":${String(coin.height === undefined ? 0 : tip.height - coin.height + 1)},` +
      `"value":${coins(coin.value)},"scriptPubKey":${this.#scripts.scriptPubKey(coin.script)},"coinbase":${String(coin.coinbase)}}`
    )
  }

  #txOutSet(): string {
    const { tip, coins: set } = this.#chain
    const transactions = new Set(set.coins.map((coin) => coin.txid)).size
    return (
      `{"height":${String(tip.height)},"bestblock":"${tip.hash}","txouts":${String(set.size)},"bogosize":${String(set.size * 75)},` +
      `"total_amount":${coins(set.total)},"transactions":${String(transactions)},"disk_size":0}`
    )
  }

  #scan([action, objects]: Params): string {
    if (action !== 'start') return action === 'status' ? 'null' : 'false'
    if (!Array.isArray(objects))
      throw new JsonRpcError(INVALID_PARAMETER, 'scanobjects argument is required for the start action')
    const scripts = new Map(
      objects.map((each) => [scriptToScan(each, this.#chain.network).toString('latin1'), true]),
    )
    const { tip, coins: set } = this.#chain
    const unspents: string[] = []
    let total = 0n
    for (const coin of set.coins) {
      if (!scripts.has(coin.script.toString('latin1'))) continue
      total += coin.value
      unspents.push(
        `{"txid":"${coin.txid}","vout":${String(coin.vout)},"scriptPubKey":"${coin.script.toString('hex')}",` +
          `"desc":"${this.#scripts.descriptor(coin.script)}","amount":${coins(coin.value)},` +
          `"coinbase":${String(coin.coinbase)},"height":${String(coin.height ?? 0)}}`,
      )
    }
    return (
      `{"success":true,"txouts":${String(set.size)},"height":${String(tip.height)},"bestblock":"${tip.hash}",` +
      `"unspents":[${unspents.join(',')}],"total_amount":${coins(total)}}`
    )
  }

  /** Returns the work of the last blocks, divided by the time between the earliest and the latest of them and their parent. */
  #hashRate([window = 120, height = -1]: Params): string {
    const tip = Number(height) < 0 ? this.#chain.tip : this.#blockAt(height)
    const count = Number(window) <= 0 ? tip.height : Math.min(Number(window), tip.height)
    let earliest = tip.time
    let latest = tip.time
    for (let at = tip.height - count; at <= tip.height; at++) {
      const { time } = this.#blockAt(at)
      earliest = Math.min(earliest, time)
      latest = Math.max(latest, time)
    }
    const work = tip.chainwork - this.#blockAt(tip.height - count).chainwork
    return latest === earliest ? '0' : String(Number(work) / (latest - earliest))
  }
}

function networkInfoJson({ version, subversion, warnings }: Dialect): string {
  return JSON.stringify({
    version,
    subversion,
    protocolversion: 70016,
    localservices: '0000000000000409',
    localservicesnames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED'],
    localrelay: true,
    timeoffset: 0,
    networkactive: true,
    connections: 0,
    connections_in: 0,
    connections_out: 0,
    networks: [],
    relayfee: 0.00001,
    incrementalfee: 0.00001,
    localaddresses: [],
    warnings,
  })
}
