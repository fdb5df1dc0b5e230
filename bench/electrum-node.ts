import { TipWaits } from '../services/http/json-rpc.js'
import { SimChain } from '../services/simnode/chain/sim-chain.js'
import type { SimTx } from '../services/simnode/chain/sim-tx.js'
import { Faults } from '../services/simnode/faults.js'
import { Random } from '../services/simnode/random.js'
import { Rpc } from '../services/simnode/rpc/methods.js'
import { serveMethods } from '../services/simnode/rpc/server.js'
import { Simulation } from '../services/simnode/simulation.js'
import { clientScript, type ElectrumSizes, type Owner, scriptOf } from './electrum-scripts.js'
import { NETWORK } from './network.js'

/**
 * A node with a chain of known wallets, in a process of its own. Arguments: the port, and the sizes as JSON. It mines on request:
 * `POST /control/pay-clients?script=N` a block that pays this script of every client, `POST /control/pay-merchant` one that pays the
 * merchant. ElectrumX can follow it too: signatures are random bytes, which no index checks.
 */
const [port = '', sizesJson = ''] = process.argv.slice(2)
const sizes = JSON.parse(sizesJson) as ElectrumSizes

const TXS_PER_BLOCK = 1_000
const AMOUNT = 1_000n
const FEE = 200n
/** The least amount of a coin that is spent for further payments. */
const LEAST_COIN = 10_000_000n
/** The number of scripts of the wallet of which one keeps its payment, and of payments of which the merchant spends one. */
const [KEEPS, SPENDS] = [10, 4]
const NOTHING = Buffer.alloc(0)

type Coin = { readonly tx: SimTx; readonly vout: number }

/** Makes payments, each from the rest of the one before. */
class Payer {
  readonly #chain: SimChain
  readonly #random = Random.of('electrum')
  readonly #script = scriptOf('bank', 0)
  #coin: Coin | undefined
  #txs: SimTx[] = []
  /** The serialised payments by txid. */
  readonly raws = new Map<string, Buffer>()

  constructor(chain: SimChain) {
    this.#chain = chain
  }

  /** Pays scripts. @param from further outputs to spend. */
  pay(scripts: readonly Buffer[], from: readonly Coin[] = []): SimTx {
    const change = this.#coinOf()
    const tx = this.#chain.pay({
      from: [...from, change],
      to: scripts.map((script) => ({ value: AMOUNT, script })),
      change: this.#script,
      fee: FEE,
      unlock: () => ({ scriptSig: NOTHING, witness: [this.#random.bytes(71), this.#random.bytes(33)] }),
    })
    this.#coin = { tx, vout: scripts.length }
    this.#txs.push(tx)
    this.raws.set(tx.txid, tx.raw)
    if (this.#txs.length >= TXS_PER_BLOCK) this.mine()
    return tx
  }

  /** Mines the payments that are in no block yet. */
  mine(): void {
    const txs = this.#txs
    this.#txs = []
    this.#chain.mine({ txs, payTo: this.#script })
  }

  /** Returns the rest of the last payment, or a new reward. */
  #coinOf(): Coin {
    const rest = this.#coin?.tx.outputs[this.#coin.vout]?.value ?? 0n
    if (this.#coin !== undefined && rest >= LEAST_COIN) return this.#coin
    this.mine()
    const [tx] = this.#chain.read(this.#chain.tip).txs
    if (tx === undefined) throw new Error('a block without a coinbase')
    return { tx, vout: 0 }
  }
}

const scriptsOf = (owner: Owner, indexes: readonly number[]): Buffer[] =>
  indexes.map((index) => scriptOf(owner, index))
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

const chain = new SimChain({ network: NETWORK, seed: 'electrum', mix: 'cheap' })
const payer = new Payer(chain)
const pairs: SimTx[] = []
for (let at = 0; at < sizes.walletScripts; at += 2) pairs.push(payer.pay(scriptsOf('wallet', [at, at + 1])))
for (const [at, tx] of pairs.entries())
  if (at % KEEPS !== 0)
    payer.pay(
      [scriptOf('bank', 1)],
      [
        { tx, vout: 0 },
        { tx, vout: 1 },
      ],
    )
for (const client of range(sizes.clients)) {
  const own = range(sizes.scriptsOfClient).map((script) => clientScript(client, script, sizes))
  payer.pay(scriptsOf('client', own))
}
let last: SimTx | undefined
for (const at of range(sizes.merchantTxs))
  if (at % SPENDS === SPENDS - 1 && last !== undefined)
    payer.pay([scriptOf('bank', 1)], [{ tx: last, vout: 0 }])
  else last = payer.pay([scriptOf('merchant', 0)])
payer.mine()

const tipWaits = new TipWaits()
const rpc = new Rpc(new Simulation(chain))
chain.watch(() => {
  tipWaits.changed()
})

/** Makes the payments of a control route. @returns false for an unknown one. */
function paid({ pathname, searchParams }: URL): boolean {
  if (pathname === '/control/pay-merchant') payer.pay([scriptOf('merchant', 0)])
  else if (pathname === '/control/pay-clients') {
    const script = Number(searchParams.get('script'))
    const indexes = range(sizes.clients).map((client) => clientScript(client, script, sizes))
    for (let at = 0; at < indexes.length; at += 2) payer.pay(scriptsOf('client', indexes.slice(at, at + 2)))
  } else return false
  payer.mine()
  return true
}

await serveMethods({
  port: Number(port),
  faults: new Faults(),
  tipWaits,
  control(method, url) {
    if (method === 'POST' && !paid(url)) return undefined
    return JSON.stringify({ height: chain.tip.height, hash: chain.tip.hash, pool: [] })
  },
  callMethod(method, params) {
    // ElectrumX requires this index of its node, and reads each transaction with it: as fast as Bitcoin Core.
    if (method === 'getindexinfo')
      return `{"txindex":{"synced":true,"best_block_height":${String(chain.tip.height)}}}`
    const raw = method === 'getrawtransaction' ? payer.raws.get(String(params[0])) : undefined
    return raw === undefined ? rpc.call(method, params) : `"${raw.toString('hex')}"`
  },
})
