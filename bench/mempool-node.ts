import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { NOT_FOUND, JsonRpcError, TipWaits } from '../services/http/json-rpc.js'
import { Faults } from '../services/simnode/faults.js'
import { Rpc } from '../services/simnode/rpc/methods.js'
import { serveMethods } from '../services/simnode/rpc/server.js'
import { buildChain } from '../services/simnode/chain/sim-chain.js'
import { Simulation } from '../services/simnode/simulation.js'
import { NETWORK } from './network.js'

/**
 * A node whose mempool holds more transactions than any simulated one, in a process of its own: only the client is
 * measured. Arguments: the port, the number of transactions, and the milliseconds between two arrivals.
 */
const [port = 0, count = 0, arrivalMs = 0] = process.argv.slice(2).map(Number)

const FEE = 1_000n
const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest()
const VERSION = Buffer.from('0200000001', 'hex')
/** The bytes of a signature and a key in the input, and one output. */
const REST = Buffer.from(
  `000000006b${'aa'.repeat(107)}fdffffff01e803000000000000160014${'bb'.repeat(20)}00000000`,
  'hex',
)

const raws = new Map<string, Buffer>()
let size = 0

function arrive(): void {
  const raw = Buffer.concat([VERSION, sha256(Buffer.from(String(raws.size))), REST])
  raws.set(sha256(sha256(raw)).reverse().toString('hex'), raw)
  size += raw.length
}

function entry(raw: Buffer): string {
  const vsize = String(raw.length)
  return (
    `{"vsize":${vsize},"weight":${String(NETWORK.witnessScale * raw.length)},"time":1800000000,"height":1,"descendantcount":1,` +
    `"descendantsize":${vsize},"ancestorcount":1,"ancestorsize":${vsize},"wtxid":"${'ab'.repeat(32)}",` +
    '"fees":{"base":0.00001000,"modified":0.00001000,"ancestor":0.00001000,"descendant":0.00001000},"depends":[],' +
    '"spentby":[],"bip125-replaceable":true,"unbroadcast":false}'
  )
}

function info(): string {
  const fee = FEE * BigInt(raws.size)
  const coins = `${String(fee / 100_000_000n)}.${String(fee % 100_000_000n).padStart(8, '0')}`
  return (
    `{"loaded":true,"size":${String(raws.size)},"bytes":${String(size)},"usage":${String(3 * size)},"total_fee":${coins},` +
    '"maxmempool":2000000000,"mempoolminfee":0.00001000,"minrelaytxfee":0.00001000,"unbroadcastcount":0}'
  )
}

function rawOf(txid: unknown): Buffer {
  const raw = raws.get(String(txid))
  if (raw === undefined) throw new JsonRpcError(NOT_FOUND, 'Transaction not in mempool')
  return raw
}

for (let i = 0; i < count; i++) arrive()
const rpc = new Rpc(new Simulation(buildChain({ network: NETWORK, seed: 'mempool', blocks: 1 })))
await serveMethods({
  port,
  faults: new Faults(),
  tipWaits: new TipWaits(),
  control: () => undefined,
  callMethod(method, params) {
    switch (method) {
      case 'getmempoolinfo':
        return info()
      case 'getrawmempool':
        return params[0] === true
          ? `{${[...raws].map(([txid, raw]) => `"${txid}":${entry(raw)}`).join(',')}}`
          : `["${[...raws.keys()].join('","')}"]`
      case 'getmempoolentry':
        return entry(rawOf(params[0]))
      case 'getrawtransaction':
        return `"${rawOf(params[0]).toString('hex')}"`
      default:
        return rpc.call(method, params)
    }
  },
})
for (;;) {
  await sleep(arrivalMs)
  arrive()
}
