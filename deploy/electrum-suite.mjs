/**
 * Runs Electrum itself, by its command line, against Headwater on a Bitcoin Core of its own, and compares what the wallet shows with the node
 * after each step: receiving, confirming, paying, a reorganisation, a newly mined output. Plain JavaScript without packages.
 */
import { Buffer } from 'node:buffer'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** The time within which the wallet must show what the node has. */
const PATIENCE_MS = 60_000
const COIN = 100_000_000

/**
 * Runs the suite.
 * @param programs the paths of Electrum, of bitcoind, and of the program with the command line of electrs.
 * @param folder for its data, which is removed first.
 * @throws Error with the first difference.
 */
export async function runElectrumSuite({ electrum, bitcoind, electrs }, folder) {
  rmSync(folder, { recursive: true, force: true })
  const [nodeFolder, walletFolder] = ['node', 'wallet'].map((name) => join(folder, name))
  for (const each of [nodeFolder, walletFolder]) mkdirSync(each, { recursive: true })
  const [rpcPort, electrumPort] = [await freePort(), await freePort()]
  const children = []
  const start = (program, args, env = {}) =>
    children.push(spawn(program, args, { stdio: ['ignore', 'ignore', 2], env: { ...process.env, ...env } }))
  const wallet = (...args) => walletCommand(electrum, walletFolder, args)
  try {
    start(bitcoind, [
      ...['-regtest', '-server', '-txindex', '-listen=0', '-fallbackfee=0.0001'],
      ...[`-datadir=${nodeFolder}`, `-rpcport=${rpcPort}`],
    ])
    const cookie = join(nodeFolder, 'regtest', '.cookie')
    const node = new Node(rpcPort, cookie)
    await until('the node answers', () => node.call('getblockcount').then(() => true))
    start(
      electrs,
      [
        ...['--network', 'regtest', '--db-dir', join(folder, 'headwater'), '--cookie-file', cookie],
        ...['--daemon-rpc-addr', `127.0.0.1:${rpcPort}`, '--electrum-rpc-addr', `127.0.0.1:${electrumPort}`],
      ],
      { POLL_INTERVAL_MS: '200' },
    )
    await node.call('createwallet', 'miner')
    const miner = await node.call('getnewaddress')
    await node.call('generatetoaddress', 110, miner)

    await wallet('--offline', 'create')
    await wallet('daemon', '-d', '-1', '-s', `127.0.0.1:${electrumPort}:t`)
    await wallet('load_wallet')
    await until('Electrum is connected', async () => (await wallet('getinfo')).connected)
    const step = async (name) => {
      await compare(name, wallet, node)
      process.stderr.write(`electrum: ${name}: as the node has it\n`)
    }
    const own = await wallet('getunusedaddress')
    await step('an empty wallet')
    await node.call('sendtoaddress', own, 1.5)
    await step('an unconfirmed payment to it')
    await node.call('generatetoaddress', 1, miner)
    await step('the payment is confirmed')

    const paid = await node.call('getnewaddress')
    const raw = await wallet('payto', paid, '0.4', '--feerate', '5')
    const txid = await wallet('broadcast', raw)
    const entry = await node.call('getmempoolentry', txid)
    if (entry.vsize <= 0) throw new Error(`the node does not have ${txid}`)
    await step('a payment from it')
    await node.call('generatetoaddress', 1, miner)
    await step('the payment from it is confirmed')

    const replaced = await node.call('getbestblockhash')
    await node.call('invalidateblock', replaced)
    for (let blocks = 0; blocks < 2; blocks++) await node.call('generateblock', miner, [])
    await step('a reorganisation that makes it unconfirmed')
    await node.call('generatetoaddress', 1, miner)
    await step('it is confirmed at another height')
    await node.call('generatetoaddress', 1, await wallet('getunusedaddress'))
    await step('a block that pays it')
    const refused = await wallet('broadcast', raw).then(
      () => undefined,
      (error) => String(error.stderr ?? error),
    )
    if (refused === undefined) throw new Error('a transaction was sent whose inputs are spent')
  } finally {
    await wallet('stop').catch(() => undefined)
    for (const child of children.reverse()) {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
  }
}

/** Runs a command of Electrum. @returns what it prints, parsed if it is JSON. */
async function walletCommand(electrum, folder, args) {
  const { stdout } = await run(electrum, ['--regtest', '-D', folder, ...args])
  const text = stdout.trim()
  return /^[[{"]|^(?:true|false|null)$/.test(text) ? JSON.parse(text) : text
}

/** Waits until the wallet shows the history and the unspent outputs that the node has. @throws Error with the difference. */
async function compare(name, wallet, node) {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const expected = JSON.stringify(await nodeState(new Set(await wallet('listaddresses')), node))
    const found = JSON.stringify(await walletState(wallet))
    if (found === expected) return
    if (Date.now() > end) throw new Error(`${name}\n  Electrum: ${found}\n  node:     ${expected}`)
    await sleep(200)
  }
}

/** Returns history, unspent outputs and sum as the wallet shows them, amounts in base units. */
async function walletState(wallet) {
  const { transactions } = await wallet('onchain_history')
  const unspent = await wallet('listunspent')
  const balance = await wallet('getbalance')
  return stateOf(
    transactions.map(({ txid, height }) => [txid, Math.max(0, height)]),
    unspent.map(({ prevout_hash, prevout_n, value }) => [prevout_hash, prevout_n, units(value)]),
    Object.values(balance).reduce((sum, amount) => sum + units(amount), 0),
  )
}

/** Returns history, unspent outputs and their sum, as the node's blocks and mempool have them. */
async function nodeState(addresses, node) {
  const history = []
  const outputs = new Map()
  const add = (tx, height, spent) => {
    const paid = tx.vout.filter(({ scriptPubKey }) => addresses.has(scriptPubKey.address))
    if (paid.length === 0 && !spent.some((address) => addresses.has(address))) return
    history.push([tx.txid, height])
    for (const { n, value } of paid) outputs.set(`${tx.txid} ${n}`, [tx.txid, n, units(value)])
  }
  const tip = await node.call('getblockcount')
  for (let height = 0; height <= tip; height++) {
    const block = await node.call('getblock', await node.call('getblockhash', height), 3)
    for (const tx of block.tx)
      add(
        tx,
        height,
        tx.vin.map(({ prevout }) => prevout?.scriptPubKey.address),
      )
  }
  for (const txid of await node.call('getrawmempool')) {
    const tx = await node.call('getrawtransaction', txid, 1)
    const spent = await Promise.all(
      tx.vin.map(async ({ txid: from, vout }) => {
        const { vout: created } = await node.call('getrawtransaction', from, 1)
        return created[vout].scriptPubKey.address
      }),
    )
    add(tx, 0, spent)
  }
  // With the mempool: those that it spends are left out.
  const unspent = []
  for (const output of outputs.values())
    if ((await node.call('gettxout', output[0], output[1], true)) !== null) unspent.push(output)
  // The node's own scan of its unspent outputs must agree on those in the chain.
  const { unspents } = await node.call(
    'scantxoutset',
    'start',
    [...addresses].map((address) => `addr(${address})`),
  )
  for (const { txid, vout, amount } of unspents)
    if (outputs.get(`${txid} ${vout}`)?.[2] !== units(amount)) throw new Error(`scantxoutset has ${txid}`)
  return stateOf(
    history,
    unspent,
    unspent.reduce((sum, [, , value]) => sum + value, 0),
  )
}

const stateOf = (history, unspent, total) => ({ history: sorted(history), unspent: sorted(unspent), total })
const sorted = (list) => list.map(String).sort()
const units = (coins) => Math.round(Number(coins) * COIN)

class Node {
  #port
  #cookie

  constructor(port, cookie) {
    this.#port = port
    this.#cookie = cookie
  }

  /** Calls a method of the node. @returns its result. @throws Error. */
  async call(method, ...params) {
    const response = await fetch(`http://127.0.0.1:${this.#port}/`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(readFileSync(this.#cookie)).toString('base64')}` },
      body: JSON.stringify({ method, params }),
    })
    const { result, error } = await response.json()
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    return result
  }
}

async function until(what, isTrue) {
  const end = Date.now() + PATIENCE_MS
  while (!(await isTrue().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await sleep(200)
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
