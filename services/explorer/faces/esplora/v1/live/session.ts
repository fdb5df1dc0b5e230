import { decodeAddress } from '../../../../../../pipelines/chain/address.js'
import { scriptHash } from '../../../../../../pipelines/chain/script.js'
import type { Core } from '../../../../core/core.js'
import { effectiveOf } from '../../../../../../pipelines/mempool/packages.js'
import type { ShownTx } from '../../../../core/mempool/shown-tx.js'
import type { PlainSocket, Session } from '../../../../http/sockets.js'
import { unconfirmed } from '../../transaction-rows.js'
import type { Follower, LiveHub } from './hub.js'
import {
  extendedUnconfirmed,
  type Moment,
  positionsOf,
  type ReplacementsKind,
  SHARED,
  type SharedField,
} from './moment.js'

/** The fields of `stats`. */
const STATS: readonly SharedField[] = ['mempoolInfo', 'vBytesPerSecond', 'transactions', 'da', 'fees']
/** The names of what a client can want. */
const WANTABLE = ['blocks', 'mempool-blocks', 'stats', 'live-2h-chart'] as const
type Want = (typeof WANTABLE)[number]

/** The numbers of transactions and of scripts that a client may track. */
const MOST = { txids: 100, scripts: 1_000 } as const
/** The maximum number of messages of a client in a time. */
const MESSAGES = { count: 100, inMs: 10_000 } as const
/** The number of projected blocks that a client can follow. */
const MAX_FOLLOWED = 8

/** A message of a client: an object with fields of these names. */
type Message = Readonly<Record<string, unknown>>
/** The fields of a message to a client; their values are JSON. */
type Fields = Map<string, string>

/** The place of a transaction in the projected blocks: the index of the block, and the virtual bytes before its middle. */
interface Place {
  readonly position: { readonly block: number; readonly vsize: number }
  readonly cpfp: { readonly effectiveFeePerVsize: number }
}

/** The transactions of one script in a message, as JSON. */
interface OfScript {
  readonly mempool: string[]
  readonly confirmed: readonly string[]
  readonly removed: string[]
}

/** Scripts that a client tracks: the names by which it knows them, and their hashes. */
type Tracked = ReadonlyMap<string, string>

/** The fields with lists of replacements. */
type ReplacementsField = 'rbfLatest' | 'rbfLatestSummary'

const NONE: Tracked = new Map()
const isTxid = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value)

/** A connection that speaks mempool.space's protocol. Source: `content/explorer-api/mempool-space.md`. */
export class LiveSession implements Session, Follower {
  readonly #hub: LiveHub
  readonly #core: Core
  readonly #socket: PlainSocket
  #wants: ReadonlySet<Want> = new Set()
  #txid: string | undefined
  /** True while the client waits for its transaction to enter the mempool. */
  #isAwaited = false
  #txids: readonly string[] = []
  #address: Tracked = NONE
  #addresses: Tracked = NONE
  #scripts: Tracked = NONE
  /** The kinds of lists of replacements, by the fields that have them. */
  readonly #replacements = new Map<ReplacementsField, ReplacementsKind>()
  #hasTxidDeltas = false
  #hasTxDeltas = false
  block: number | undefined
  #sequence = 0
  /** The places in the projected blocks that the client knows, as JSON, by txid. */
  readonly #places = new Map<string, string>()
  #times: number[] = []
  /** Messages are handled one after another. */
  #last: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(core: Core, hub: LiveHub, socket: PlainSocket) {
    this.#core = core
    this.#hub = hub
    this.#socket = socket
    hub.add(this)
  }

  get interests() {
    const scripts = [this.#address, this.#addresses, this.#scripts].flatMap((each) => [...each.values()])
    return {
      txids: new Set(this.#tracked()),
      scripts: new Set(scripts),
      replacements: new Set(this.#replacements.values()),
    }
  }

  message(text: string): void {
    const now = performance.now()
    this.#times = this.#times.filter((time) => time > now - MESSAGES.inMs)
    this.#times.push(now)
    const message = this.#times.length > MESSAGES.count ? undefined : messageIn(text)
    if (message === undefined) {
      this.#socket.close(1008, 'too many messages, or a message that is not a JSON object')
      return
    }
    this.#last = this.#last
      .then(() => this.#handle(message))
      .catch((error: unknown) => {
        this.#core.defect(error, 'mempool.space websocket')
        this.#socket.close(1011, 'internal error')
      })
  }

  closed(): void {
    this.#isClosed = true
    this.#hub.remove(this)
  }

  async #handle(message: Message): Promise<void> {
    if (message['action'] === 'ping') this.#send(new Map([['pong', 'true']]))
    const moment = await this.#hub.moment()
    if (this.#isClosed) return
    if (moment === undefined) {
      this.#socket.close(1013, 'the state cannot be read now')
      return
    }
    const fields: Fields = new Map()
    if (message['action'] === 'init')
      for (const [name, value] of this.#initial(moment)) fields.set(name, value)
    this.#want(message, moment, fields)
    this.#trackTx(message, moment, fields)
    this.#trackTxs(message, moment, fields)
    this.#trackScripts(message, moment, fields)
    this.#followBlock(message, fields)
    if (typeof message['track-mempool-txids'] === 'boolean')
      this.#hasTxidDeltas = message['track-mempool-txids']
    if (typeof message['track-mempool'] === 'boolean') this.#hasTxDeltas = message['track-mempool']
    await this.#trackReplacements(message, fields)
    this.#send(fields)
  }

  async #trackReplacements(message: Message, fields: Fields): Promise<void> {
    const trees = message['track-rbf']
    const summary = message['track-rbf-summary']
    const track = async (field: ReplacementsField, kind: ReplacementsKind | undefined): Promise<void> => {
      this.#replacements.delete(field)
      if (kind === undefined) return
      this.#replacements.set(field, kind)
      fields.set(field, (await this.#hub.replacements(kind)) ?? '[]')
    }
    if (trees !== undefined)
      await track('rbfLatest', trees === 'all' || trees === 'fullRbf' ? trees : undefined)
    if (summary !== undefined) await track('rbfLatestSummary', summary === true ? 'summary' : undefined)
  }

  #initial({ fields, network }: Moment): Fields {
    const backendInfo = { hostname: '', version: '', gitCommit: '', lightning: false, backend: 'esplora' }
    return new Map<string, string>([
      ['backend', '"esplora"'],
      ...SHARED.map((name) => [name, fields.get(name) ?? 'null'] as const),
      ['conversions', '{}'],
      ['backendInfo', JSON.stringify({ ...backendInfo, network: network.nodeName })],
      ['loadingIndicators', '{}'],
    ])
  }

  #want(message: Message, { fields: shared }: Moment, fields: Fields): void {
    const refresh = message['refresh-blocks'] === true
    const { data } = message
    if (message['action'] === 'want' && Array.isArray(data)) {
      const before = this.#wants
      this.#wants = new Set(WANTABLE.filter((want) => data.includes(want)))
      const added = [...this.#wants].filter((want) => !before.has(want))
      for (const name of added.flatMap(fieldsOf)) fields.set(name, shared.get(name) ?? 'null')
    }
    if (refresh) fields.set('blocks', shared.get('blocks') ?? '[]')
  }

  #trackTx(message: Message, moment: Moment, fields: Fields): void {
    const requested = message['track-tx']
    if (requested === undefined) return
    this.#txid = isTxid(requested) ? requested.toLowerCase() : undefined
    this.#isAwaited = false
    if (this.#txid === undefined) return
    const tx = moment.mempool.get(this.#txid)
    if (message['watch-mempool'] === true) {
      if (tx === undefined) this.#isAwaited = true
      else fields.set('tx', extendedUnconfirmed(tx))
    }
    this.#places.delete(this.#txid)
    const place = this.#newPlaceOf(this.#txid, withPlaces(moment, [this.#txid]))
    if (place !== undefined) fields.set('txPosition', JSON.stringify({ txid: this.#txid, ...place }))
  }

  #trackTxs(message: Message, moment: Moment, fields: Fields): void {
    const requested = message['track-txs']
    if (requested === undefined) return
    if (!Array.isArray(requested)) {
      this.#refuse('track-txs-error', 'incorrect track-txs format')
      return
    }
    if (requested.length > MOST.txids) {
      const text = `too many txids requested, this connection supports tracking a maximum of ${String(MOST.txids)} transactions`
      this.#refuse('track-txs-error', text)
      return
    }
    this.#txids = requested.filter(isTxid).map((txid) => txid.toLowerCase())
    const placed = withPlaces(moment, this.#txids)
    const known = this.#txids.flatMap((txid) => {
      this.#places.delete(txid)
      const place = this.#newPlaceOf(txid, placed)
      return place === undefined ? [] : [[txid, { ...place, confirmed: false }] as const]
    })
    if (known.length > 0) fields.set('tracked-txs', JSON.stringify(Object.fromEntries(known)))
  }

  /** Sends an error and closes the connection. */
  #refuse(name: string, text: string): void {
    this.#send(new Map([[name, JSON.stringify(text)]]))
    this.#socket.close(1008, text)
  }

  #trackScripts(message: Message, { network }: Moment, fields: Fields): void {
    const hashOf = (address: string): string | undefined => {
      const script = decodeAddress(address, network)?.script
      return script === undefined ? undefined : scriptHash(script)
    }
    const track = (name: string, of: (text: string) => string | undefined): Tracked | undefined => {
      const requested = message[name]
      const texts = (Array.isArray(requested) ? requested : [requested]).filter(
        (each): each is string => typeof each === 'string',
      )
      if (requested === undefined) return undefined
      if (texts.length > MOST.scripts) {
        const what = name === 'track-scriptpubkeys' ? 'scriptpubkeys' : 'addresses'
        const error = `too many ${what} requested, this connection supports tracking a maximum of ${String(MOST.scripts)} ${what}`
        fields.set(`${name}-error`, JSON.stringify(error))
        return NONE
      }
      return new Map(
        texts.flatMap((text) => {
          const hash = of(text)
          return hash === undefined ? [] : [[text, hash] as const]
        }),
      )
    }
    this.#address = track('track-address', hashOf) ?? this.#address
    this.#addresses = track('track-addresses', hashOf) ?? this.#addresses
    const ofScript = (hex: string): string | undefined =>
      /^(?:[0-9a-f]{2})+$/i.test(hex) ? scriptHash(Buffer.from(hex, 'hex')) : undefined
    this.#scripts = track('track-scriptpubkeys', ofScript) ?? this.#scripts
  }

  #followBlock(message: Message, fields: Fields): void {
    const requested = message['track-mempool-block']
    if (requested === undefined) return
    const isIndex = typeof requested === 'number' && Number.isInteger(requested)
    this.block = isIndex && requested >= 0 && requested < MAX_FOLLOWED ? requested : undefined
    if (this.block !== undefined) fields.set('projected-block-transactions', this.#hub.projected(this.block))
  }

  changed(moment: Moment, deltas: ReadonlyMap<number, string>): void {
    this.#sequence++
    for (const block of moment.newBlocks)
      if (this.#wants.has('blocks')) this.#send(new Map([['block', block]]))
    const fields: Fields = new Map()
    for (const want of this.#wants)
      if (want !== 'blocks')
        for (const name of fieldsOf(want)) fields.set(name, moment.fields.get(name) ?? 'null')
    this.#addTx(moment, fields)
    this.#addTxs(moment, fields)
    this.#addScripts(moment, fields)
    const delta = this.block === undefined ? undefined : deltas.get(this.block)
    if (delta !== undefined) fields.set('projected-block-transactions', delta)
    for (const [field, kind] of this.#replacements) {
      const list = moment.replacements.get(kind)
      if (list !== undefined) fields.set(field, list)
    }
    this.#addDeltas(moment, fields)
    this.#send(fields)
  }

  #addTx(moment: Moment, fields: Fields): void {
    const txid = this.#txid
    if (txid === undefined) return
    const entered = this.#isAwaited ? moment.mempool.get(txid) : undefined
    if (entered !== undefined) {
      this.#isAwaited = false
      fields.set('tx', extendedUnconfirmed(entered))
    }
    const { utxoSpent, replacedBy, place } = this.#newsOf(txid, moment)
    if (moment.confirmed.has(txid)) fields.set('txConfirmed', JSON.stringify(txid))
    if (utxoSpent !== undefined) fields.set('utxoSpent', JSON.stringify(utxoSpent))
    if (replacedBy !== undefined) fields.set('rbfTransaction', JSON.stringify({ txid: replacedBy }))
    if (place !== undefined) fields.set('txPosition', JSON.stringify({ txid, ...place }))
  }

  #addTxs(moment: Moment, fields: Fields): void {
    const news = new Map<string, object>()
    for (const txid of this.#txids) {
      const { utxoSpent, replacedBy, place } = this.#newsOf(txid, moment)
      if (moment.confirmed.has(txid)) news.set(txid, { confirmed: true })
      else if (utxoSpent !== undefined || replacedBy !== undefined || place !== undefined)
        news.set(txid, { utxoSpent, replacedBy, ...place })
    }
    if (news.size > 0) fields.set('tracked-txs', JSON.stringify(Object.fromEntries(news)))
  }

  /** Returns what has changed for a transaction that no block contains. */
  #newsOf(txid: string, moment: Moment) {
    const spends = moment.entered.flatMap((tx) =>
      tx.outpoints.flatMap((outpoint, vin) =>
        outpoint.startsWith(`${txid}:`) ? [[outpoint.slice(65), { vin, txid: tx.txid }] as const] : [],
      ),
    )
    const left = moment.departed.find(({ tx, isMined }) => tx.txid === txid && !isMined)
    return {
      utxoSpent: spends.length === 0 ? undefined : Object.fromEntries(spends),
      replacedBy: left?.replacedBy,
      place: this.#newPlaceOf(txid, moment),
    }
  }

  /** Returns the place of a transaction in the projected blocks, with its effective rate; undefined if the client knows both. */
  #newPlaceOf(txid: string, moment: Moment): Place | undefined {
    const tx = moment.mempool.get(txid)
    const at = moment.places.get(txid)
    if (tx === undefined || at === undefined) return undefined
    const { fee, vsize } = effectiveOf(tx)
    const position = { block: at.block, vsize: at.before + tx.vsize / 2 }
    const place = { position, cpfp: { effectiveFeePerVsize: Number(fee) / vsize } }
    const text = JSON.stringify(place)
    if (this.#places.get(txid) === text) return undefined
    this.#places.set(txid, text)
    return place
  }

  #addScripts(moment: Moment, fields: Fields): void {
    for (const hash of this.#address.values()) {
      const { mempool, confirmed, removed } = ofScript(hash, moment)
      if (mempool.length > 0) fields.set('address-transactions', listOf(mempool))
      if (removed.length > 0) fields.set('address-removed-transactions', listOf(removed))
      if (confirmed.length > 0) fields.set('block-transactions', listOf(confirmed))
    }
    addOfEach('multi-address-transactions', this.#addresses, moment, fields)
    addOfEach('multi-scriptpubkey-transactions', this.#scripts, moment, fields)
  }

  #addDeltas({ entered, departed }: Moment, fields: Fields): void {
    if (entered.length + departed.length === 0) return
    const gone = departed.filter(({ isMined }) => !isMined)
    const common = {
      sequence: this.#sequence,
      removed: gone.map(({ tx }) => tx.txid),
      mined: departed.flatMap(({ tx, isMined }) => (isMined ? [tx.txid] : [])),
    }
    const replaced = gone.flatMap(({ tx, replacedBy: by }) =>
      by === undefined ? [] : [{ replaced: tx.txid, by }],
    )
    if (this.#hasTxidDeltas) {
      const delta = { ...common, added: entered.map(({ txid }) => txid), replaced }
      fields.set('mempool-txids', JSON.stringify(delta))
    }
    if (this.#hasTxDeltas) {
      const rest = JSON.stringify({ ...common, replaced }).slice(1)
      fields.set('mempool-transactions', `{"added":${listOf(entered.map(extendedUnconfirmed))},${rest}`)
    }
  }

  #tracked(): string[] {
    return this.#txid === undefined ? [...this.#txids] : [this.#txid, ...this.#txids]
  }

  #send(fields: Fields): void {
    if (fields.size === 0 || this.#isClosed) return
    const members = [...fields].map(([name, value]) => `${JSON.stringify(name)}:${value}`)
    this.#socket.sendAll([`{${members.join(',')}}`])
  }
}

/** Returns the fields of a wish, as far as they are equal for all clients. */
function fieldsOf(want: Want): readonly SharedField[] {
  if (want === 'stats') return STATS
  return want === 'live-2h-chart' ? [] : [want]
}

function messageIn(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? (message as Message) : undefined
  } catch {
    return undefined
  }
}

/** Returns a moment with positions of other transactions. */
const withPlaces = (moment: Moment, txids: readonly string[]): Moment => ({
  ...moment,
  places: positionsOf(moment.projected, new Set(txids)),
})

const listOf = (items: readonly string[]): string => `[${items.join(',')}]`

/** Returns what has changed for a script. */
function ofScript(hash: string, { entered, departed, inBlocks }: Moment): OfScript {
  const touches = (tx: ShownTx): boolean => tx.changes.has(hash)
  return {
    mempool: entered.filter(touches).map(extendedUnconfirmed),
    confirmed: inBlocks.get(hash) ?? [],
    removed: departed.flatMap(({ tx, isMined }) => (!isMined && touches(tx) ? [unconfirmed(tx)] : [])),
  }
}

function addOfEach(name: string, tracked: Tracked, moment: Moment, fields: Fields): void {
  const changed = [...tracked].flatMap(([text, hash]) => {
    const { mempool, confirmed, removed } = ofScript(hash, moment)
    if (mempool.length + confirmed.length + removed.length === 0) return []
    const lists = `"mempool":${listOf(mempool)},"confirmed":${listOf(confirmed)},"removed":${listOf(removed)}`
    return [`${JSON.stringify(text)}:{${lists}}`]
  })
  if (changed.length > 0) fields.set(name, `{${changed.join(',')}}`)
}
