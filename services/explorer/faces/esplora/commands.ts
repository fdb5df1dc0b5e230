import { NodeRpcError } from '../../../../pipelines/node/errors.js'
import type { Commands } from '../../core/core.js'
import type { TxLimits } from '../../core/node/node-commands.js'
import { type Answer, keptRequest, NO_STORE, POST, type Request } from '../../http/answer.js'
import { BadArgument } from '../../core/reads/read.js'
import type { HandlerRoute } from '../face.js'
import { overLimit } from '../../core/answering/failure.js'
import { failedAsText, textAnswer } from './answers.js'

/** The maximum size of the body of a request. */
export const MAX_BODY_BYTES = 1_000_000
/** The maximum number of transactions of a package, and the sizes of each as hexadecimal. */
const PACKAGE = { transactions: 25, least: 120, most: 800_000 }
const DISABLED = 'broadcasting is disabled: the operator enables it with BROADCAST=true'

/** Returns the routes by which clients send transactions to the node, and ask it about them. */
export function commandRoutes(commands: Commands | undefined): HandlerRoute[] {
  const route = (
    pattern: string,
    run: (body: string, request: Request, commands: Commands) => Promise<Answer>,
    methods = POST,
  ): HandlerRoute => ({
    pattern,
    methods,
    isLimited: true,
    ...(methods === POST ? { maxBodyBytes: MAX_BODY_BYTES } : {}),
    handle: async (request) => {
      const copy = keptRequest(request)
      const body = methods === POST ? await request.body(MAX_BODY_BYTES) : Buffer.alloc(0)
      if (body === undefined) return textAnswer(413, 'Request body too large')
      if (commands === undefined) return textAnswer(403, DISABLED)
      return (await limited(copy, commands)) ?? run(body.toString('latin1').trim(), copy, commands)
    },
  })
  const send = (hex: string, { node }: Commands): Promise<Answer> =>
    answered('sendrawtransaction', async () => textAnswer(200, await node.send(hex)))
  return [
    route('/tx', (body, _, own) => send(body, own)),
    route(
      '/broadcast',
      (_, { query }, own) => send(new URLSearchParams(query).get('tx') ?? '', own),
      'GET, OPTIONS',
    ),
    // A form with the transaction as `tx`.
    route('/v1/tx/push', (body, _, own) => send(/^tx=([0-9a-f]*)/i.exec(body)?.[1] ?? body, own)),
    ...['/txs/package', '/v1/txs/package'].map((pattern) =>
      route(pattern, (body, { query }, { node }) =>
        answered('submitpackage', async () => {
          const { hexes, limits } = packageIn(body, query)
          return jsonText(await node.submitPackage(hexes, limits))
        }),
      ),
    ),
    route('/txs/test', (body, { query }, { node }) =>
      answered('testmempoolaccept', async () => {
        const { hexes, limits } = packageIn(body, query)
        return jsonText(await node.testAccept(hexes, limits))
      }),
    ),
  ]
}

/** Counts a command against the limit of its client. @returns the refusal if the client has exceeded it. */
async function limited(request: Request, { limit }: Commands): Promise<Answer | undefined> {
  const retryMs = await limit?.take(request.origin())
  return limit === undefined || retryMs === undefined
    ? undefined
    : failedAsText(overLimit(retryMs, limit.policy))
}

/** Answers with the verdict of the node, or with the reason why there is none. */
async function answered(method: string, make: () => Promise<Answer>): Promise<Answer> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof NodeRpcError)
      return textAnswer(400, `${method} RPC error ${String(error.rpcCode)}: ${error.reason}`)
    throw error
  }
}

const jsonText = (value: unknown): Answer => ({
  ...textAnswer(200, JSON.stringify(value)),
  headers: [['content-type', 'application/json'], NO_STORE],
})

/** Returns the transactions in a body, and the limits in the query. @throws BadArgument with the text of the reference server. */
function packageIn(
  body: string,
  query: string,
): { readonly hexes: readonly string[]; readonly limits: TxLimits } {
  const hexes = listIn(body)
  if (hexes.length > PACKAGE.transactions)
    throw new BadArgument(`Exceeded maximum of ${String(PACKAGE.transactions)} transactions`)
  for (const [index, hex] of hexes.entries()) {
    if (hex.length < PACKAGE.least || hex.length > PACKAGE.most)
      throw new BadArgument(`Invalid transaction size for item ${String(index)}`)
    if (!/^(?:[0-9a-f]{2})+$/i.test(hex))
      throw new BadArgument(`Invalid transaction hex for item ${String(index)}`)
  }
  const params = new URLSearchParams(query)
  const amount = (name: string): number | undefined => {
    const text = params.get(name)
    if (text === null) return undefined
    if (!/^[0-9]+(?:\.[0-9]{1,8})?$/.test(text)) throw new BadArgument(`Invalid ${name}`)
    return Number(text)
  }
  return { hexes, limits: { maxFeeRate: amount('maxfeerate'), maxBurnAmount: amount('maxburnamount') } }
}

function listIn(body: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(body)
    if (Array.isArray(parsed) && parsed.every((each) => typeof each === 'string')) return parsed
  } catch {
    // Not JSON.
  }
  throw new BadArgument('Invalid JSON: a list of transactions in hexadecimal is expected')
}
