import type { Core } from '../../core/core.js'
import type { Encoding } from '../../core/answering/encoding.js'
import type { Read } from '../../core/reads/read.js'
import { GET, keptRequest, POST, type Request, urlOf } from '../../http/answer.js'
import type { ReadAnswers } from '../../http/read-answers.js'
import type { PlainSocket, SocketProtocol } from '../../http/sockets.js'
import type { HandlerRoute, HttpFace, ReadRoute } from '../face.js'
import { ADDRESS_READS, prefixSearch } from './addresses.js'
import { failedAsText, textAnswer } from './answers.js'
import * as blocks from './blocks.js'
import { HISTORY_READS, outspendsByOutpoint, outspendsByTxid, outspendsOfTxs } from './bulk.js'
import { commandRoutes, MAX_BODY_BYTES } from './commands.js'
import { feeEstimates } from './fees.js'
import { BYTES_FORM, JSON_FORM, TEXT_FORM } from './forms.js'
import * as mempool from './mempool.js'
import { outspend, outspends } from './outspends.js'
import * as transactions from './transactions.js'
import { LiveHub } from './v1/live/hub.js'
import { LiveSession } from './v1/live/session.js'
import { outpointIn, prevouts } from './v1/prevouts.js'
import { V1_READS } from './v1/routes.js'
import { transactionTimes } from './v1/transactions.js'

/** The paths of mempool.space's WebSocket. */
const LIVE_PATHS = ['/v1/ws', '/ws']
/** The sizes of its messages, as the reference server bounds them. */
const LIVE_SIZES = { message: 50_000, backlog: 10_000_000 }

const TEXTS: readonly Read[] = [
  blocks.tipHeight,
  blocks.tipHash,
  blocks.blockHash,
  blocks.blockHeader,
  blocks.blockTxid,
  transactions.transactionHex,
  transactions.merkleBlockProof,
]
const BYTES: readonly Read[] = [blocks.blockRaw, transactions.transactionRaw]
const JSONS: readonly Read[] = [
  blocks.blocks,
  blocks.blocksBelow,
  blocks.block,
  blocks.blockStatus,
  blocks.blockTxids,
  blocks.blockTxs,
  blocks.blockTxsAfter,
  transactions.transaction,
  transactions.status,
  transactions.merkleProof,
  outspend,
  outspends,
  outspendsOfTxs,
  ...ADDRESS_READS,
  prefixSearch,
  mempool.mempool,
  mempool.mempoolTxids,
  mempool.mempoolTxidsPage,
  mempool.mempoolTxidsAfter,
  mempool.mempoolRecent,
  mempool.mempoolTxs,
  mempool.mempoolTxsAfter,
  feeEstimates,
  ...V1_READS,
]
const BODIES: readonly Read[] = [outspendsByTxid, outspendsByOutpoint, ...HISTORY_READS]

/** A face of HTTP with WebSocket protocols for any server. */
export type EsploraFace = HttpFace & { readonly sockets: readonly SocketProtocol<PlainSocket>[] }

/**
 * Returns the face of Esplora's HTTP API, with mempool.space's own API below /v1, for a listener of its own. Sources:
 * `content/explorer-api/esplora.md` and `mempool-space.md` there.
 */
export function esploraFace(core: Core, answers: ReadAnswers): EsploraFace {
  const hub = new LiveHub(core)
  const routes = [
    ...TEXTS.map((read) => routeOf(read, TEXT_FORM)),
    ...BYTES.map((read) => routeOf(read, BYTES_FORM)),
    ...JSONS.map((read) => routeOf(read, JSON_FORM)),
  ]
  return {
    prefix: '',
    routes: [
      ...routes,
      ...BODIES.map((read) => bodyRoute(read, answers)),
      bodyRoute(prevouts, answers, outpointIn),
      queryRoute(transactionTimes, 'txId[]', answers),
      ...commandRoutes(core.commands),
      ...LIVE_PATHS.map((pattern) => upgradeRoute(pattern)),
    ],
    sockets: [
      {
        paths: LIVE_PATHS,
        choose: (offered) => offered,
        sizes: LIVE_SIZES,
        open: (socket) => new LiveSession(core, hub, socket),
      },
    ],
    failed: failedAsText,
    unknown: (request) => textAnswer(404, `endpoint does not exist "${urlOf(request)}"`),
  }
}

/** Returns the route of a WebSocket for requests that do not upgrade. */
function upgradeRoute(pattern: string): HandlerRoute {
  const handle = () => textAnswer(426, 'Upgrade Required', [['upgrade', 'websocket']])
  return { pattern, methods: GET, isLimited: true, handle }
}

function routeOf(read: Read, encoding: Encoding): ReadRoute {
  return { pattern: read.path, methods: GET, isLimited: true, read, formFor: () => ({ encoding }) }
}

/**
 * Returns the route of a read whose list of arguments is the body, a list of JSON; its other arguments are in the query.
 * @param itemOf returns an element of the list as the read has it.
 */
function bodyRoute(
  read: Read,
  answers: ReadAnswers,
  itemOf: (item: unknown) => unknown = (item) => item,
): HandlerRoute {
  return {
    pattern: read.path,
    methods: POST,
    isLimited: true,
    maxBodyBytes: MAX_BODY_BYTES,
    handle: async (request: Request) => {
      const copy = keptRequest(request)
      const body = await request.body(MAX_BODY_BYTES)
      if (body === undefined) return textAnswer(413, 'Request body too large')
      const items = listIn(body)?.map(itemOf)
      if (items === undefined) return textAnswer(400, 'Invalid JSON: a list of texts is expected')
      const params = new URLSearchParams(copy.query)
      const argument = (name: string) => (name === 'items' ? items : (params.get(name) ?? undefined))
      return answers.answer(copy, { read, argument, encoding: JSON_FORM, failed: failedAsText })
    },
  }
}

/** Returns the route of a read whose list of arguments is a repeated parameter of the query. */
function queryRoute(read: Read, name: string, answers: ReadAnswers): HandlerRoute {
  return {
    pattern: read.path,
    methods: GET,
    isLimited: true,
    handle: (request: Request) => {
      const items = new URLSearchParams(request.query).getAll(name)
      const argument = (argumentName: string) => (argumentName === 'items' ? items : undefined)
      return answers.answer(request, { read, argument, encoding: JSON_FORM, failed: failedAsText })
    },
  }
}

function listIn(body: Buffer): readonly unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    return Array.isArray(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
