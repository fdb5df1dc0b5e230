import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { serializeTx, type TxParts } from '../../../../../pipelines/chain/transaction.js'
import { outpointOf } from '../../../../../pipelines/chain/prevout.js'
import { scriptHash } from '../../../../../pipelines/chain/script.js'
import { shownTx, type ShownTx } from '../../../../../services/explorer/core/mempool/shown-tx.js'
import { type Overlay, Mempool, returnable } from '../../../../../services/explorer/core/mempool/mempool.js'
import { Random } from '../../../../../services/simnode/random.js'

const SCRIPT = Buffer.from('76a914' + '11'.repeat(20) + '88ac', 'hex')
let serial = 0

/** A transaction that spends these outpoints (a new one by default) and has one output. */
function tx(...outpoints: readonly string[]): ShownTx {
  serial++
  const spends = outpoints.length > 0 ? outpoints : [outpointOf(serial.toString(16).padStart(64, '0'), 0)]
  const parts: TxParts = {
    version: 2,
    locktime: serial,
    inputs: spends.map((outpoint) => ({
      prevTxid: outpoint.slice(0, 64),
      prevVout: Number(outpoint.slice(65)),
      scriptSig: Buffer.alloc(0),
      sequence: 0xffff_ffff,
      witness: [],
    })),
    outputs: [{ value: 1000n, script: SCRIPT }],
  }
  const coins = spends.map(() => ({ value: 1100n, script: SCRIPT }))
  return shownTx(
    { raw: serializeTx(parts, true), fee: 100n, firstSeen: 1_700_000_000 + serial, network: REGTEST },
    coins,
  )
}

function overlay(
  position: number,
  parts: { confirmed?: ShownTx[]; returned?: ShownTx[]; spent?: string[] },
): Overlay {
  const { confirmed = [], returned = [], spent = [] } = parts
  return {
    position,
    confirmed: new Set(confirmed.map((each) => each.txid)),
    spent: new Set([...spent, ...confirmed.flatMap((each) => each.outpoints)]),
    returned,
  }
}

const shown = (mempool: Mempool): string[] => [...mempool.snapshot().values()].map((each) => each.txid).sort()
const ids = (...txs: readonly ShownTx[]): string[] => txs.map((each) => each.txid).sort()

describe('the mempool beside the head', () => {
  it('removes a transaction with the head that confirms it, before the poller reports it', () => {
    const [a, b] = [tx(), tx()]
    const mempool = new Mempool()
    mempool.replace([a, b], 5)
    mempool.advance(overlay(6, { confirmed: [a] }))
    expect(shown(mempool)).toEqual(ids(b))
    expect(mempool.snapshot().size).toBe(1)
    mempool.change([], [a.txid], 6)
    expect(shown(mempool)).toEqual(ids(b))
  })

  it('returns a transaction with the head that disconnects it, before the poller reports it', () => {
    const [a, b] = [tx(), tx()]
    const mempool = new Mempool()
    mempool.replace([b], 5)
    mempool.advance(overlay(7, { returned: [a] }))
    expect(shown(mempool)).toEqual(ids(a, b))
    mempool.change([a], [], 7)
    expect(shown(mempool)).toEqual(ids(a, b))
    expect(
      mempool
        .snapshot()
        .newest(10)
        .map((each) => each.txid),
    ).toEqual([b.txid, a.txid])
  })

  it('drops a transaction of a disconnected block if the poller does not find it in the mempool', () => {
    const a = tx()
    const mempool = new Mempool()
    mempool.advance(overlay(7, { returned: [a] }))
    expect(shown(mempool)).toEqual(ids(a))
    mempool.change([], [], 7)
    expect(shown(mempool)).toEqual([])
  })

  it('keeps overlays of heads that are ahead of the newest event of the mempool', () => {
    const [a, b] = [tx(), tx()]
    const mempool = new Mempool()
    mempool.replace([a], 5)
    mempool.advance(overlay(9, { confirmed: [a, b] }))
    mempool.change([b], [], 7)
    expect(shown(mempool)).toEqual([])
    mempool.change([], [a.txid, b.txid], 9)
    expect(shown(mempool)).toEqual([])
  })

  it('follows a transaction that is confirmed, disconnected and confirmed again within two heads', () => {
    const a = tx()
    const mempool = new Mempool()
    mempool.replace([a], 1)
    mempool.advance(overlay(2, { confirmed: [a] }))
    expect(shown(mempool)).toEqual([])
    mempool.advance(overlay(4, { returned: [a] }))
    expect(shown(mempool)).toEqual(ids(a))
    mempool.advance(overlay(6, { confirmed: [a] }))
    expect(shown(mempool)).toEqual([])
  })

  it('hides a confirmed transaction until the poller reports that it left, however many deltas that takes', () => {
    const [a, b] = [tx(), tx()]
    const mempool = new Mempool()
    mempool.replace([a], 1)
    mempool.advance(overlay(2, { confirmed: [a] }))
    mempool.change([b], [], 2)
    expect(shown(mempool)).toEqual(ids(b))
    mempool.change([], [a.txid], 2)
    expect(shown(mempool)).toEqual(ids(b))
  })

  it('shows a transaction again that the poller never removed, when its block is disconnected', () => {
    const a = tx()
    const mempool = new Mempool()
    mempool.replace([a], 1)
    mempool.advance(overlay(2, { confirmed: [a] }))
    mempool.change([tx()], [], 2)
    expect(mempool.snapshot().get(a.txid)).toBeUndefined()
    mempool.advance(overlay(4, { returned: [a] }))
    expect(mempool.snapshot().get(a.txid)).toBeDefined()
    mempool.change([], [], 4)
    expect(mempool.snapshot().get(a.txid)).toBeDefined()
  })

  it('removes transactions that a block contradicts, with all their descendants', () => {
    const parent = tx()
    const child = tx(outpointOf(parent.txid, 0))
    const grandchild = tx(outpointOf(child.txid, 0))
    const other = tx()
    const mempool = new Mempool()
    mempool.replace([grandchild, child, parent, other], 1)
    mempool.advance(overlay(2, { spent: [...parent.outpoints] }))
    expect(shown(mempool)).toEqual(ids(other))
  })

  it('applies an overlay that was made late before those of later heads', () => {
    const a = tx()
    const mempool = new Mempool()
    mempool.replace([a], 1)
    mempool.advance(overlay(4, { returned: [a] }))
    mempool.advance(overlay(2, { confirmed: [a] }))
    expect(shown(mempool)).toEqual(ids(a))
  })

  it('shows the same after a hundred heads without an event of the mempool as through each of them', () => {
    const txs = Array.from({ length: 20 }, () => tx())
    const mempool = new Mempool()
    mempool.replace(txs, 0)
    const expected = new Set(ids(...txs))
    for (let position = 1; position <= 100; position++) {
      const one = txs[(position * 7) % txs.length] as ShownTx
      const inChain = !expected.has(one.txid)
      mempool.advance(overlay(position, inChain ? { returned: [one] } : { confirmed: [one] }))
      if (inChain) expected.add(one.txid)
      else expected.delete(one.txid)
      expect(shown(mempool)).toEqual([...expected].sort())
    }
  })

  it('finds the transactions of a script, including those of disconnected blocks, and no confirmed ones', () => {
    const [a, b, c] = [tx(), tx(), tx()]
    const hash = [...a.changes.keys()][0] as string
    const mempool = new Mempool()
    mempool.replace([a, b], 1)
    mempool.advance(overlay(2, { confirmed: [a], returned: [c] }))
    expect(
      mempool
        .snapshot()
        .ofScript(hash)
        .map((each) => each.txid),
    ).toEqual([c.txid, b.txid])
    expect(mempool.snapshot().ofScript('00'.repeat(32))).toEqual([])
    expect(b.changes.get(hash)).toBe(-100n)
  })

  it('changes its version with every visible change', () => {
    const mempool = new Mempool()
    const versions = [mempool.version]
    mempool.replace([tx()], 1)
    versions.push(mempool.version)
    mempool.advance(overlay(2, {}))
    versions.push(mempool.version)
    mempool.change([tx()], [], 2)
    versions.push(mempool.version)
    expect(new Set(versions).size).toBe(4)
  })
})

describe('transactions that a disconnected block returns', () => {
  it('include no coinbase, none that is confirmed again or contradicted, and no child of such a one', () => {
    const coinbase = tx()
    const ofCoinbase = tx(outpointOf(coinbase.txid, 0))
    const again = tx()
    const contradicted = tx()
    const child = tx(outpointOf(contradicted.txid, 0))
    const free = tx()
    const ofFree = tx(outpointOf(free.txid, 0))
    const chained = [coinbase, ofCoinbase, again, contradicted, child, free, ofFree].map((each) => {
      return { tx: each, isCoinbase: each === coinbase }
    })
    const confirmed = new Set([again.txid])
    const returned = returnable(chained, { confirmed, spent: new Set(contradicted.outpoints) })
    expect(returned).toEqual([free, ofFree])
  })
})

const PARENT = 'ab'.repeat(32)

describe('the changes that the mempool reports', () => {
  /** A mempool, and the sets that it has reported. */
  function reporting() {
    const reported: ReadonlySet<string>[] = []
    const mempool = new Mempool((touched) => reported.push(touched))
    return { mempool, last: () => reported.at(-1) }
  }
  /** Txids without the hash of the script that all transactions here have, and without parents that are unknown. */
  const txidsIn = (touched: ReadonlySet<string> | undefined): string[] =>
    [...(touched ?? [])]
      .filter((hash) => hash !== scriptHash(SCRIPT) && !/^(00){20}/.test(hash) && hash !== PARENT)
      .sort()

  it('are the transactions that enter, leave or are resolved, and their scripts', () => {
    const { mempool, last } = reporting()
    const [a, b, c] = [tx(), tx(), tx()]
    mempool.replace([a, b], 5)
    expect(txidsIn(last())).toEqual(ids(a, b))
    mempool.replace([b, a], 5)
    expect(last()).toEqual(new Set())
    mempool.change([c], [a.txid], 6)
    expect(txidsIn(last())).toEqual(ids(a, c))
    expect(last()?.has(scriptHash(SCRIPT))).toBe(true)
    // An output of its parent is spent now.
    expect(last()?.has(c.outpoints[0]!.slice(0, 64))).toBe(true)
    mempool.change([b], ['ff'.repeat(32)], 7)
    expect(last()).toEqual(new Set())
    mempool.update([{ ...b }])
    expect(txidsIn(last())).toEqual(ids(b))
  })

  it('are all that a head removes or returns, and nothing else', () => {
    const { mempool, last } = reporting()
    const [a, b] = [tx(), tx()]
    const conflicting = tx(outpointOf(PARENT, 0))
    const child = tx(outpointOf(conflicting.txid, 0))
    mempool.replace([a, b, conflicting, child], 5)
    const returned = tx()
    const spent = [outpointOf(PARENT, 0)]
    mempool.advance(overlay(6, { confirmed: [a], returned: [returned], spent }))
    expect(txidsIn(last())).toEqual(ids(a, conflicting, child, returned))
    // What the poller reports later was visible before.
    mempool.change([returned], [a.txid, conflicting.txid, child.txid], 6)
    expect(last()).toEqual(new Set())
    expect(shown(mempool)).toEqual(ids(b, returned))
  })

  it('are empty while the removal of hidden transactions is reported in parts', () => {
    const { mempool, last } = reporting()
    const [a, b, c] = [tx(), tx(), tx()]
    mempool.replace([a, b], 5)
    mempool.advance(overlay(6, { confirmed: [a, b] }))
    mempool.change([c], [a.txid], 6)
    expect(txidsIn(last())).toEqual(ids(c))
    mempool.change([], [b.txid], 6)
    expect(last()).toEqual(new Set())
  })
})

it('reports every transaction and script whose answer changes, over random changes', () => {
  const random = Random.of('reported changes', 1)
  const scriptOf = (byte: number): Buffer => Buffer.from([0x51, byte])
  const SCRIPTS = [1, 2, 3, 4, 5, 6]
  const anyScript = (): Buffer => scriptOf(SCRIPTS[random.below(SCRIPTS.length)] ?? 0)
  const touched = new Set<string>()
  const mempool = new Mempool((hashes) => {
    for (const hash of hashes) touched.add(hash)
  })
  const made: ShownTx[] = []
  /** Returns a transaction that spends an output of another one or of none, which is known or not. */
  const enter = (): ShownTx => {
    const parent = made[random.below(made.length + 3)]
    const outpoint = outpointOf(parent?.txid ?? random.below(1e9).toString(16).padStart(64, '0'), 0)
    const input = { prevTxid: outpoint.slice(0, 64), prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0 }
    const raw = serializeTx(
      {
        version: 2,
        locktime: made.length,
        inputs: [{ ...input, witness: [] }],
        outputs: [{ value: 1n, script: anyScript() }],
      },
      false,
    )
    const coins = random.below(3) === 0 ? [] : [{ value: 2n, script: anyScript() }]
    const tx = shownTx({ raw, fee: 1n, firstSeen: 1_700_000_000 + random.below(50), network: REGTEST }, coins)
    made.push(tx)
    return tx
  }
  const some = (from: readonly ShownTx[]): ShownTx[] => from.filter(() => random.below(4) === 0)
  const resolved = (tx: ShownTx): ShownTx =>
    shownTx({ ...tx }, tx.coins[0] === undefined ? [{ value: 2n, script: anyScript() }] : tx.coins)
  let position = 1
  const changes: readonly (() => void)[] = [
    () => {
      mempool.change([enter(), enter()], ids(...some([...mempool.entries()])), random.below(position + 1))
    },
    () => {
      mempool.replace([...some(made), enter()], random.below(position + 1))
    },
    () => {
      mempool.update(some([...mempool.entries()]).map(resolved))
    },
    () => {
      const [confirmed, returned] = [some([...mempool.snapshot().values()]), some(made)]
      mempool.advance(overlay(++position, { confirmed, returned }))
    },
    () => {
      mempool.restore(some(made))
    },
  ]
  const answers = (): Map<string, readonly unknown[]> =>
    new Map<string, readonly unknown[]>([
      ...made.map(({ txid }) => [txid, [mempool.snapshot().get(txid)]] as const),
      ...SCRIPTS.map((byte) => {
        const hash = scriptHash(scriptOf(byte))
        return [hash, mempool.snapshot().ofScript(hash)] as const
      }),
    ])
  let changed = 0
  for (let step = 0; step < 600; step++) {
    const before = answers()
    touched.clear()
    changes[random.below(changes.length)]?.()
    for (const [hash, after] of answers()) {
      const was = before.get(hash) ?? [undefined]
      if (was.length === after.length && was.every((each, index) => each === after[index])) continue
      changed++
      expect(touched.has(hash), `step ${String(step)}: ${hash}`).toBe(true)
    }
    if (made.length > 60) made.splice(0, 20)
  }
  expect(changed).toBeGreaterThan(600)
})
