import { addressKind, BECH32 } from '../../../../pipelines/chain/address.js'

/** A coin that Headwater does not index, by the beginnings of its addresses. Source: the chainparams.cpp of its node. */
interface ForeignCoin {
  readonly name: string
  readonly hrps: readonly string[]
  /** Base58 versions. */
  readonly versions: readonly number[]
}

const COINS: readonly ForeignCoin[] = [
  { name: 'Litecoin', hrps: ['ltc'], versions: [48, 50] },
  { name: 'Litecoin testnet', hrps: ['tltc'], versions: [58] },
  { name: 'Dogecoin', hrps: [], versions: [30, 22] },
  { name: 'Dogecoin testnet', hrps: [], versions: [113] },
  { name: 'Dash', hrps: [], versions: [76, 16] },
  { name: 'DigiByte', hrps: ['dgb'], versions: [63] },
  { name: 'Vertcoin', hrps: ['vtc'], versions: [71] },
  { name: 'Liquid', hrps: ['ex'], versions: [57] },
]

const CASH_PREFIXES = { bitcoincash: 'Bitcoin Cash', bchtest: 'Bitcoin Cash testnet' } as const
/** The generators of the checksum of CashAddr: https://github.com/bitcoincashorg/bitcoincash.org/blob/master/spec/cashaddr.md */
const CASH_GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n]
/** The characters of an address with a hash of 20 bytes. */
const CASH_LENGTH = 42
const ETHEREUM = /^0x[0-9a-f]{40}$/i

/**
 * Returns the names of the coins, of those that Headwater does not index, to which an address belongs: none if its checksum is right
 * but the coin is not known; undefined if the text is no address of any chain.
 */
export function foreignCoins(text: string): readonly string[] | undefined {
  if (ETHEREUM.test(text)) return ['Ethereum']
  const cash = cashNetwork(text)
  if (cash !== undefined) return [cash]
  const kind = addressKind(text)
  if (kind === undefined) return undefined
  const coins = COINS.filter(({ hrps, versions }) =>
    'hrp' in kind ? hrps.includes(kind.hrp) : versions.includes(kind.version),
  )
  return coins.map(({ name }) => name)
}

/** Returns the network of an address in CashAddr, given without its prefix. */
function cashNetwork(text: string): string | undefined {
  const payload = text.toLowerCase()
  if (payload.length !== CASH_LENGTH) return undefined
  return Object.entries(CASH_PREFIXES).find(([prefix]) => isCash(prefix, payload))?.[1]
}

function isCash(prefix: string, payload: string): boolean {
  const words = Array.from(payload, (sign) => BECH32.indexOf(sign))
  if (words.includes(-1)) return false
  let checksum = 1n
  for (const value of [...Buffer.from(prefix).map((byte) => byte & 31), 0, ...words]) {
    const top = checksum >> 35n
    checksum = ((checksum & 0x07ffffffffn) << 5n) ^ BigInt(value)
    for (const [bit, generator] of CASH_GENERATORS.entries())
      if (((top >> BigInt(bit)) & 1n) === 1n) checksum ^= generator
  }
  return checksum === 1n
}
