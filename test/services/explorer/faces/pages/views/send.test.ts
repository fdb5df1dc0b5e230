import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { serializeTx } from '../../../../../../pipelines/chain/transaction.js'
import { NodeRpcError, NodeUnavailable } from '../../../../../../pipelines/node/errors.js'
import type { Html } from '../../../../../../services/design/html.js'
import type { Commands } from '../../../../../../services/explorer/core/core.js'
import { MempoolTxs } from '../../../../../../services/explorer/core/mempool/mempool-txs.js'
import { shownTx } from '../../../../../../services/explorer/core/mempool/shown-tx.js'
import { TxRejected } from '../../../../../../services/explorer/core/node/broadcaster.js'
import { NodeCommands } from '../../../../../../services/explorer/core/node/node-commands.js'
import { AnswerSize, MakingMemory } from '../../../../../../services/explorer/core/reads/answer-size.js'
import type { ReadContext } from '../../../../../../services/explorer/core/reads/read.js'
import { Validity } from '../../../../../../services/explorer/core/reads/validity.js'
import { Projections } from '../../../../../../services/explorer/core/state/projections.js'
import { NO_CHAIN } from '../../../../../../services/explorer/core/state/state.js'
import { Cancellation } from '../../../../../../services/explorer/core/tables/cancellation.js'
import { loadAssets } from '../../../../../../services/explorer/faces/pages/assets.js'
import { send } from '../../../../../../services/explorer/faces/pages/views/send.js'
import { CALM } from '../../../bare-server.js'

const SCRIPT = Buffer.from(`0014${'ab'.repeat(20)}`, 'hex')

interface Parts {
  readonly prevTxid?: string
  readonly value?: bigint
  readonly witness?: readonly Buffer[]
}

/** Returns a transaction with an input and an output. */
const rawTx = ({
  prevTxid = '11'.repeat(32),
  value = 900n,
  witness = [Buffer.alloc(64, 1)],
}: Parts): Buffer =>
  serializeTx(
    {
      version: 2,
      locktime: 0,
      inputs: [{ prevTxid, prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0, witness: [...witness] }],
      outputs: [{ value, script: SCRIPT }],
    },
    true,
  )

/** An unconfirmed transaction with an output of 1,000 base units. */
const parent = shownTx(
  { raw: rawTx({ value: 1_000n }), fee: 200n, firstSeen: 1_790_000_000, network: REGTEST },
  [{ value: 1_200n, script: SCRIPT }],
)

/** Returns commands of which the node answers `testmempoolaccept` so, or throws. */
function commandsOf(answer: unknown, sendTransaction: Commands['sendTransaction'] = notSent): Commands {
  const call = (): Promise<unknown> =>
    answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  return { node: new NodeCommands({ call } as never), limit: undefined, sendTransaction }
}

const notSent = (): Promise<never> => Promise.reject(new Error('sent without being asked to'))

async function pageOf(commands: Commands | undefined, args: { hex?: string; act?: 'send' }): Promise<string> {
  const context = {
    chain: { ...NO_CHAIN, network: REGTEST },
    validity: new Validity(),
    size: new AnswerSize(new MakingMemory(), new Cancellation()),
    mempool: MempoolTxs.of([parent]),
    projections: new Projections(),
    tables: {
      bodies: { getAll: () => Promise.resolve(new Map()) },
      unspent: () => Promise.resolve(new Map()),
      largeBodies: { getAll: () => Promise.resolve(new Map()) },
    },
    definitions: { labels: { ofScript: () => undefined } },
    relayFees: undefined,
    ofHead: () => Promise.resolve({ items: [] }),
  } as unknown as ReadContext
  const made = await send(commands)({ assets: loadAssets(), condition: () => CALM }).resolve(context, {
    ...args,
    locale: 'en-GB',
  } as never)
  return (made as Html).text
}

const child = (parts: Parts = {}): string => rawTx({ prevTxid: parent.txid, ...parts }).toString('hex')
const ACCEPTED = [{ txid: 'x', allowed: true }]

describe('the page that sends a transaction', () => {
  it('shows the form alone at first', async () => {
    const text = await pageOf(commandsOf(ACCEPTED), {})
    expect(text).toContain('<textarea')
    expect(text).not.toContain('class="verdict')
  })

  it('does not send what it only checks, and offers to send what the node accepts', async () => {
    const text = await pageOf(commandsOf(ACCEPTED), { hex: ` ${child()}\n` })
    expect(text).toContain('class="verdict good"')
    expect(text).toContain('name="act" value="send"')
    expect(text).toMatch(/value="100"/)
  })

  it('sends on request, with a link', async () => {
    const sent: unknown[] = []
    const commands = commandsOf(new Error('tested'), (argument) => {
      sent.push(argument('hex'))
      return Promise.resolve({ txid: 'cd'.repeat(32) })
    })
    const text = await pageOf(commands, { hex: child(), act: 'send' })
    expect(sent).toEqual([child()])
    expect(text).toContain(`href="/tx/${'cd'.repeat(32)}"`)
  })

  it.each([
    ['missing-inputs', 'spends an output that does not exist'],
    ['bad-txns-inputs-missingorspent', 'spends an output that does not exist'],
    ['min relay fee not met, 10 < 110', 'It pays too little'],
    ['max-fee-exceeded', 'takes it for a mistake'],
    ['mandatory-script-verify-flag-failed (Signature must be zero)', 'is invalid'],
    ['mempool-script-verify-flag-failed (Witness program hash mismatch)', 'is invalid'],
    ['txn-already-in-mempool', 'in its mempool already'],
    ['insufficient fee, rejecting replacement ab', 'does not pay enough more'],
    ['non-BIP68-final', 'it is too early'],
    ['<script>hack()</script>', '&lt;script&gt;hack()'],
  ])('explains the reason %s, and offers no button', async (reason, words) => {
    const text = await pageOf(commandsOf([{ allowed: false, 'reject-reason': reason }]), { hex: child() })
    expect(text).toContain(words)
    expect(text).not.toContain('<script>hack')
    expect(text).not.toContain('name="act"')
  })

  it('offers sending only if the node cannot test, and nothing if it is unreachable', async () => {
    const untested = await pageOf(
      commandsOf(new NodeRpcError('testmempoolaccept', -32601, 'Method not found')),
      {
        hex: child(),
      },
    )
    expect(untested).toContain('it has no testmempoolaccept')
    expect(untested).toContain('name="act" value="send"')
    const unreachable = await pageOf(commandsOf(new NodeUnavailable('node unreachable')), { hex: child() })
    expect(unreachable).toContain('The node is unreachable.')
    expect(unreachable).not.toContain('name="act"')
    const refused = commandsOf(ACCEPTED, () => Promise.reject(new TxRejected('dust')))
    expect(await pageOf(refused, { hex: child(), act: 'send' })).toContain('so small that spending it')
  })

  it('only decodes where sending is not allowed', async () => {
    const text = await pageOf(undefined, { hex: child(), act: 'send' })
    expect(text).toContain('Sending is switched off here')
    expect(text).toContain('id="o-0"')
    expect(text).not.toContain('class="verdict')
  })

  it.each([
    ['xyz', 'This is not hexadecimal'],
    ['abc', 'This is not hexadecimal'],
    ['00', 'not exactly one transaction'],
    [`${child()}00`, 'not exactly one transaction'],
    ['70736274ff0100', 'partially signed'],
    ['cHNidP8BAA', 'partially signed'],
  ])('explains what is wrong with %s', async (hex, words) => {
    expect(await pageOf(commandsOf(ACCEPTED), { hex })).toContain(words)
  })

  it('warns of missing signatures, unknown outputs, conflicts and large fees', async () => {
    const of = (parts: Parts): Promise<string> => pageOf(commandsOf(ACCEPTED), { hex: child(parts) })
    const plain = await of({})
    expect(plain).not.toContain('class="warnings"')
    expect(await of({ witness: [] })).toContain('1 input has no signature.')
    expect(await of({ prevTxid: '33'.repeat(32) })).toContain('its fee is not known')
    expect(await of({ value: 100n })).toContain('The fee is 90% of all that it spends.')
    const conflicting = await of({ prevTxid: '11'.repeat(32) })
    expect(conflicting).toMatch(new RegExp(`It replaces unconfirmed transactions[^]*/tx/${parent.txid}`))
  })
})
