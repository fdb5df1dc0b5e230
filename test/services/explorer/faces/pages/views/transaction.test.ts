import { describe, expect, it } from 'vitest'
import { addressOf } from '../../../../../../pipelines/chain/address.js'
import { sha256 } from '../../../../../../pipelines/chain/hash.js'
import { REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { scriptHash } from '../../../../../../pipelines/chain/script.js'
import { serializeTx } from '../../../../../../pipelines/chain/transaction.js'
import { MempoolTxs } from '../../../../../../services/explorer/core/mempool/mempool-txs.js'
import { Forecasts } from '../../../../../../services/explorer/core/forecast/forecasts.js'
import { Projections } from '../../../../../../services/explorer/core/state/projections.js'
import {
  type Coin,
  type ShownTx,
  shownTx,
} from '../../../../../../services/explorer/core/mempool/shown-tx.js'
import { loadAssets } from '../../../../../../services/explorer/faces/pages/assets.js'
import { transaction } from '../../../../../../services/explorer/faces/pages/views/transaction.js'
import { AnswerSize, MakingMemory } from '../../../../../../services/explorer/core/reads/answer-size.js'
import { Cancellation } from '../../../../../../services/explorer/core/tables/cancellation.js'
import type { ReadContext } from '../../../../../../services/explorer/core/reads/read.js'
import { Validity } from '../../../../../../services/explorer/core/reads/validity.js'
import { NO_CHAIN } from '../../../../../../services/explorer/core/state/state.js'
import type { Html } from '../../../../../../services/design/html.js'

import { CALM } from '../../../bare-server.js'

const HOSTILE = '</title><script>hack()</script><img src=x onerror="hack()">\' & "'
const NONE = Buffer.alloc(0)
const P2TR = Buffer.from(`5120${'44'.repeat(32)}`, 'hex')
const P2WPKH = Buffer.from(`0014${'ab'.repeat(20)}`, 'hex')

/** The hash of a script with a label. */
const LABELLED = scriptHash(P2WPKH)

interface Parts {
  readonly inputs?: number
  readonly prevTxid?: string
  readonly prevVout?: number
  readonly scriptSig?: Buffer
  readonly outputs: readonly Buffer[]
  readonly fee: bigint
}

/** Returns an unconfirmed transaction with these scripts. */
function unconfirmed({
  inputs = 1,
  prevTxid = '11'.repeat(32),
  prevVout = 0,
  scriptSig,
  outputs,
  fee,
}: Parts): ShownTx {
  const tx = {
    version: 2,
    locktime: 0,
    inputs: Array.from({ length: inputs }, (_, index) => ({
      prevTxid,
      prevVout: prevVout + index,
      scriptSig: scriptSig ?? Buffer.alloc(0),
      sequence: 0,
      witness: [],
    })),
    outputs: outputs.map((script) => ({ value: 1_000n, script })),
  }
  return ofTx(tx, fee)
}

/** Returns a transaction as unconfirmed. @param scripts of the outputs that it spends. */
function ofTx(tx: Parameters<typeof serializeTx>[0], fee: bigint, scripts: readonly Buffer[] = []): ShownTx {
  const coins: Coin[] = tx.inputs.map((_, index) => ({ value: 5_000n, script: scripts[index] ?? P2WPKH }))
  return shownTx({ raw: serializeTx(tx, true), fee, firstSeen: 1_790_000_000, network: REGTEST }, coins)
}

/** Returns the page of a transaction of a mempool. */
async function pageOf(
  { txid }: ShownTx,
  all: readonly ShownTx[],
  page = 1,
): Promise<{ text: string; validity: Validity }> {
  const validity = new Validity()
  const chain = { ...NO_CHAIN, network: REGTEST }
  const size = new AnswerSize(new MakingMemory(), new Cancellation())
  const projections = new Projections()
  const forecasts = new Forecasts({ query: () => Promise.resolve([]) })
  const ofHead = () => Promise.resolve({ items: [], limit: 0 })
  const mempool = MempoolTxs.of(all)
  const dropped = { replacedBy: () => Promise.resolve([]) }
  const labels = { ofScript: (hash: string) => (hash === LABELLED ? { label: HOSTILE } : undefined) }
  const definitions = { labels }
  const sources = { chain, validity, size, mempool, projections, forecasts, ofHead, dropped, definitions }
  const context = sources as unknown as ReadContext
  const made = await transaction({ assets: loadAssets(), condition: () => CALM }).resolve(context, {
    txid,
    page,
    locale: 'en-GB',
  } as never)
  return { text: (made as Html).text, validity }
}

const push = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])

describe('the page of a transaction', () => {
  it('shows hostile OP_RETURN data as text', async () => {
    const opReturn = Buffer.concat([Buffer.from([0x6a]), push(HOSTILE)])
    const tx = unconfirmed({ outputs: [opReturn, P2WPKH], fee: 500n })
    const { text } = await pageOf(tx, [tx])
    expect(text).toContain('&lt;script&gt;hack()&lt;/script&gt;&lt;img src=x onerror=&quot;hack()&quot;&gt;')
    expect(text).not.toContain('<script>hack')
    expect(text).not.toContain('<img')
  })

  it('shows the hostile text of a miner as text', async () => {
    const coinbase = { prevTxid: '00'.repeat(32), prevVout: 0xffff_ffff, scriptSig: push(HOSTILE) }
    const tx = unconfirmed({ ...coinbase, outputs: [P2WPKH], fee: 0n })
    const { text } = await pageOf(tx, [tx])
    expect(text).toContain('&lt;script&gt;hack()&lt;/script&gt;')
    expect(text).not.toContain('<script>hack')
  })

  it('shows the position by fee rate, and changes with the mempool', async () => {
    const own = unconfirmed({ outputs: [P2WPKH], fee: 500n })
    const higher = unconfirmed({ prevVout: 1, outputs: [P2WPKH], fee: 501n })
    const lower = unconfirmed({ prevVout: 2, outputs: [P2WPKH], fee: 499n })
    const equal = unconfirmed({ prevVout: 3, outputs: [P2WPKH], fee: 500n })
    const { text, validity } = await pageOf(own, [own, higher, lower, equal])
    expect(text).toContain('2 of 4 unconfirmed transactions')
    expect(text).toContain(`${String(higher.vsize)} vB pay more`)
    expect([...validity.objects].sort()).toEqual([own.txid, 'condition', 'head', 'mempool'].sort())
    expect(validity.finalHeight).toBe(Number.POSITIVE_INFINITY)
  })

  it('shows the position by the effective fee rate: a child pays for its parent', async () => {
    const parent = unconfirmed({ outputs: [P2WPKH], fee: 1n })
    const child = unconfirmed({ prevTxid: parent.txid, outputs: [P2WPKH], fee: 2_001n })
    const between = unconfirmed({ prevVout: 3, outputs: [P2WPKH], fee: 1_000n })
    const { text } = await pageOf(parent, [parent, child, between])
    expect(text).toContain('1 of 3 unconfirmed transactions')
    expect(text).toContain('in the next block, in about 1 minute')
    const [, connected = ''] = text.split('Connected unconfirmed transactions</h2>')
    expect(connected).toMatch(new RegExp(`/tx/${child.txid}"[^]*this one spends from it`))
    expect(text).not.toContain('it spends from this one')
    const rate = (1_001 / parent.vsize).toFixed(2)
    expect(text).toMatch(new RegExp(`0\\.0\\d [^;]*; ${rate.replace('.', '\\.')} sat/vB with its package`))
    // 1,001 for each of both, against 1,000.
    const { text: after } = await pageOf(between, [parent, child, between])
    expect(after).toContain('3 of 3 unconfirmed transactions')
    expect(after).not.toContain('Connected unconfirmed transactions')
    expect(after).toContain(`${String(2 * parent.vsize)} vB pay more`)
  })

  it('names the unconfirmed transaction that spends an output', async () => {
    const tx = unconfirmed({ outputs: [P2WPKH, P2WPKH], fee: 500n })
    const spender = unconfirmed({ prevTxid: tx.txid, prevVout: 1, outputs: [P2WPKH], fee: 500n })
    const { text } = await pageOf(tx, [tx, spender])
    const outputs = text
      .slice(text.indexOf('<ol class="coins">', text.indexOf('<ol class="coins">') + 1))
      .split('<li id="o-')
    expect(outputs[1]).not.toContain('Spent by')
    expect(outputs[2]).toMatch(/Spent by\s+<a/)
    expect(outputs[2]).toContain(`/tx/${spender.txid}#i-0"`)
    expect(outputs[2]).toContain('(Unconfirmed)')
  })

  it('has a hundred inputs of a large one, and draws no more ribbons than can be distinguished', async () => {
    const tx = unconfirmed({ inputs: 331, outputs: [P2WPKH], fee: 500n })
    const { text } = await pageOf(tx, [tx])
    expect(text.match(/<li id="i-/g)).toHaveLength(100)
    expect(text).toContain('331 inputs')
    expect(text.match(/<a class="in"/g)).toHaveLength(24)
    expect(text.match(/<a class="rest" href="#i-24"\s*><title>307 further inputs</g)).toHaveLength(1)
    const { text: last } = await pageOf(tx, [tx], 4)
    expect(last.match(/<li id="i-/g)).toHaveLength(31)
    expect(last).toContain('id="i-330"')
  })

  it('draws ribbons that lead along the coins and have their figures, but nothing for a coin that becomes another', async () => {
    const tx = unconfirmed({ inputs: 2, prevVout: 3, outputs: [P2WPKH, P2TR], fee: 500n })
    const spender = unconfirmed({ prevTxid: tx.txid, prevVout: 1, outputs: [P2WPKH], fee: 500n })
    const { text } = await pageOf(tx, [tx, spender])
    const figure = /<figure class="flow">[^]*?<\/figure/.exec(text)?.[0] ?? ''
    const ribbons = [...figure.matchAll(/<a class="(\w+)" href="([^"]+)"\s*>\s*<title>([^<]*)</g)]
    const own = addressOf(P2TR, REGTEST)!
    expect(ribbons.map(([, kind, href]) => [kind, href])).toEqual([
      ['in', `/tx/${'11'.repeat(32)}#o-3`],
      ['in', `/tx/${'11'.repeat(32)}#o-4`],
      ['out', `/address/${addressOf(P2WPKH, REGTEST)!}`],
      ['out', `/tx/${spender.txid}#i-0`],
    ])
    expect(ribbons[3]?.[3]).toMatch(
      new RegExp(`^Output 1, ${own}, 0.00001 BTQ, Spent by ${spender.txid.slice(0, 10)}`),
    )
    expect(ribbons[2]?.[3]).toContain('&lt;/title&gt;')
    expect(/<g class="fee"\s*>\s*<title>([^<]*)</.exec(figure)?.[1]).toBe('Fee, 0.000005 BTQ')
    expect((await pageOf(spender, [tx, spender])).text).not.toContain('class="flow"')
  })

  it('of 15,000 outputs, or with a long payload, is small', async () => {
    const many = unconfirmed({ outputs: Array.from({ length: 15_000 }, () => P2WPKH), fee: 500n })
    const { text } = await pageOf(many, [many])
    expect(text.length).toBeLessThan(162_000)
    expect(text).toContain('Page 1 of 150')
    const long = Buffer.concat([Buffer.from('6a4ee0930400', 'hex'), Buffer.alloc(300_000, 'long ')])
    const payload = unconfirmed({ outputs: [long], fee: 500n })
    const { text: beginning } = await pageOf(payload, [payload])
    expect(beginning.length).toBeLessThan(20_000)
    expect(beginning).toContain('long long long')
  })

  it('has whole addresses and outpoints, so that a selection copies them, and the label of an address as text', async () => {
    const tx = unconfirmed({ prevVout: 7, outputs: [P2WPKH, P2TR], fee: 500n })
    const { text } = await pageOf(tx, [tx])
    const taproot = addressOf(P2TR, REGTEST)!
    const link = new RegExp(`<a class="hash" href="/address/${taproot}"[^>]*>([^]*?)</a\\s*>`).exec(text)?.[1]
    expect(link?.replace(/<[^>]*>|\s/g, '')).toBe(taproot)
    const outpoint = `${'11'.repeat(32)}:7`
    const spends = new RegExp(`<a class="hash" href="/tx/${'11'.repeat(32)}#o-7"[^>]*>([^]*?)</a\\s*>`).exec(
      text,
    )?.[1]
    expect(spends?.replace(/<[^>]*>|\s/g, '')).toBe(outpoint)
    expect(text).toContain('<a class="label" href="/address/' + addressOf(P2WPKH, REGTEST)!)
    expect(text).toContain('&lt;/title&gt;&lt;script&gt;hack()')
  })

  it('links an output to the input that spends it, on the page that has the input', async () => {
    const parent = unconfirmed({ outputs: [P2WPKH], fee: 500n })
    const inputs = [
      ...Array.from({ length: 120 }, (_, index) => ({ prevTxid: '22'.repeat(32), prevVout: index })),
      { prevTxid: parent.txid, prevVout: 0 },
    ]
    const child = ofTx(
      {
        version: 2,
        locktime: 0,
        inputs: inputs.map((each) => ({ ...each, scriptSig: NONE, sequence: 0, witness: [] })),
        outputs: [{ value: 1n, script: P2WPKH }],
      },
      500n,
    )
    const { text } = await pageOf(parent, [parent, child])
    expect(text).toContain(`href="/tx/${child.txid}?page=2#i-120"`)
    expect((await pageOf(child, [parent, child], 2)).text).toContain('id="i-120"')
  })

  it('says what the items of a witness are, and writes scripts as opcodes', async () => {
    const key = Buffer.from(`02${'cd'.repeat(32)}`, 'hex')
    const script = Buffer.concat([Buffer.from([33]), key, Buffer.from([0xac])])
    const program = Buffer.concat([Buffer.from([0, 32]), sha256(script)])
    const dilithium = Buffer.alloc(2421, 1)
    const tx = ofTx(
      {
        version: 2,
        locktime: 700_000,
        inputs: [
          {
            prevTxid: '11'.repeat(32),
            prevVout: 0,
            scriptSig: NONE,
            sequence: 0xffff_fffd,
            witness: [dilithium, script],
          },
          {
            prevTxid: '11'.repeat(32),
            prevVout: 1,
            scriptSig: NONE,
            sequence: 144,
            witness: [Buffer.alloc(64, 5)],
          },
        ],
        outputs: [{ value: 1n, script: P2WPKH }],
      },
      500n,
      [program, P2TR],
    )
    const { text } = await pageOf(tx, [tx])
    const plain = text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
    expect(plain).toContain('Dilithium2 signature, 2,420 B, sighash ALL')
    expect(plain).toContain('Schnorr signature, 64 B, sighash DEFAULT')
    expect(plain).toContain('P2TR, spent by its key')
    expect(plain).toContain('Witness script, 35 B')
    expect(plain).toContain(`OP_PUSHBYTES_33 02${'cd'.repeat(32)} OP_CHECKSIG`)
    expect(plain).toContain('locked until the spent output has 144 confirmations')
    expect(plain).toContain('700,000: only in blocks after 700,000')
  })
})
