import { addressOf } from '../../../../../pipelines/chain/address.js'
import { protectionOf } from '../../../../../pipelines/chain/columns/protection.js'
import { keysOfScript } from '../../../../../pipelines/chain/forms/spend-keys.js'
import {
  keyHashOf,
  keyHashScripts,
  keyScript,
  otherKeyScripts,
} from '../../../../../pipelines/chain/keys/public-key.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { isDilithiumKey, keyOf, scriptType } from '../../../../../pipelines/chain/script.js'
import { isoTime } from '../../../../../pipelines/chain/time.js'
import { address, at } from '../arguments.js'
import { declareRead, NO_BLOCK, NotFound, type ReadContext } from '../read.js'
import { requestedScript } from '../script.js'
import { type AddressExposure, AddressExposure as Answer } from '../shapes.js'
import {
  firstRevelation,
  type Revelation,
  singleKeyOf,
  unconfirmedRevelation,
  type Use,
  useOf,
} from './revelation.js'

/** More keys than standard scripts have. */
const MAX_KEYS = 20

export const addressExposure = declareRead({
  name: 'addressExposure',
  about:
    'Whether a computer that derives private keys from public ones could take the coins of an address or script, with the transaction that showed the key. Other scripts of the same key count, if they are derived from it or from its hash, and unconfirmed spends.',
  path: '/address/:address/exposure',
  fresh: 'objects',
  args: { address, at },
  answer: Answer,
  notFound: ['Address not found', NO_BLOCK],
  emptyFrom: (_, { tx_count }) => (tx_count === 0 ? 0 : undefined),
  async resolve(context, { address: requested }) {
    const { script, network, address } = await requestedScript(context, requested)
    if (script === undefined) throw notFound()
    const type = scriptType(script, network)
    const own = await useOf(context, script, network)
    const { others, revelation } = await searched(context, own, network)
    if (address === null && ![own, ...others].some(isUsed)) throw notFound()
    const confirmed = protectionOf(type, own.last?.spendKinds ?? 0)
    const protection = revelation === undefined ? confirmed : 'exposed'
    const balance = balanceOf(own)
    const keys = revelation?.keys.length ? revelation.keys : keysOfScript(script, network)
    return {
      address,
      script_type: type,
      protection,
      reason: reasonOf(own, { protection, confirmed, revelation, network }),
      balance: balance.toString(),
      at_risk: protection === 'exposed' ? balance.toString() : '0',
      tx_count: own.last?.ordinal ?? 0,
      revelation: revelation === undefined ? null : shown(context, revelation, network),
      keys: keys
        .slice(0, MAX_KEYS)
        .map((key) => ({ key: key.toString('hex'), isDilithium: isDilithiumKey(key) })),
      same_key: others.filter(isUsed).map((use) => ({
        address: addressOf(use.script, network) ?? null,
        script_pub_key: use.script.toString('hex'),
        script_type: scriptType(use.script, network),
        balance: balanceOf(use).toString(),
        tx_count: use.last?.ordinal ?? 0,
      })),
    }
  },
})

const notFound = (): NotFound => new NotFound('Address not found', 0, 'HW_ADDRESS_NOT_FOUND')

interface Found {
  readonly protection: AddressExposure['protection']
  /** The protection by the script and its own confirmed spends alone. */
  readonly confirmed: AddressExposure['protection']
  readonly revelation: Revelation | undefined
  readonly network: Network
}

function reasonOf(
  { script }: Use,
  { protection, confirmed, revelation, network }: Found,
): AddressExposure['reason'] {
  const ofType = protectionOf(scriptType(script, network), 0)
  if (protection === 'hidden') return 'hash'
  if (protection === ofType || protection === 'unknown') return 'script'
  if (protection === 'protected') return 'spend'
  if (confirmed !== 'exposed' && revelation?.height === undefined) return 'unconfirmed'
  return revelation?.script.equals(script) === true ? 'spend' : 'same_key'
}

/** Returns the other scripts of the key of a script, as far as they can be known, and what shows it first. */
async function searched(
  context: ReadContext,
  own: Use,
  network: Network,
): Promise<{ readonly others: readonly Use[]; readonly revelation: Revelation | undefined }> {
  const ownKey = keyOf(own.script, network)
  const hash = keyHashOf(own.script, network)
  let others = await usesOf(context, own, hash === undefined ? [] : keyHashScripts(hash), network)
  let revelation = await firstRevelation(context, [own, ...others], network)
  const key = ownKey ?? (revelation && singleKeyOf(revelation, network))
  const keyScripts = key === undefined ? [] : [keyScript(key, network), ...otherKeyScripts(key, network)]
  if (keyScripts.length > 0) {
    const known = keyScripts.filter((each) => each !== undefined)
    others = await usesOf(context, own, known, network)
    // The output key of P2TR does not show the key from which it is derived.
    const showing = others.filter(({ script }) => scriptType(script, network) !== 'witness_v1_taproot')
    revelation = await firstRevelation(context, [own, ...showing], network)
  }
  return { others, revelation: revelation ?? unconfirmedRevelation([own, ...others], network) }
}

const usesOf = (
  context: ReadContext,
  own: Use,
  scripts: readonly Buffer[],
  network: Network,
): Promise<Use[]> =>
  Promise.all(
    scripts.filter((script) => !script.equals(own.script)).map((script) => useOf(context, script, network)),
  )

const isUsed = ({ last, unconfirmed }: Use): boolean => last !== undefined || unconfirmed.length > 0

const balanceOf = ({ last }: Use): bigint => (last === undefined ? 0n : last.totalReceived - last.totalSent)

/** Returns a revelation as an answer describes it. */
function shown(
  { chain: { blocks } }: ReadContext,
  { script, txid, height, vin, vout, innerScript }: Revelation,
  network: Network,
): NonNullable<AddressExposure['revelation']> {
  return {
    txid,
    block_height: height ?? null,
    timestamp: height === undefined ? null : isoTime(blocks.timeAt(height)),
    vin: vin ?? null,
    vout: vout ?? null,
    address: addressOf(script, network) ?? null,
    script_type: scriptType(script, network),
    inner_script_type: innerScript === undefined ? null : scriptType(innerScript, network),
  }
}
