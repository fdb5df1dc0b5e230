import type { Network } from '../networks.js'
import { isDilithiumKey, isPlainKey, keyOf, multisigOf, opcodes, scriptType } from '../script.js'
import type { TxInput } from '../transaction.js'
import { innerScripts } from './inner-scripts.js'
import { spendItems } from './spend-items.js'

/** Returns the public keys that a script itself shows: of P2PK, bare multisig, and the output key of P2TR, which is an x coordinate. */
export function keysOfScript(script: Buffer, network: Network): readonly Buffer[] {
  if (scriptType(script, network) === 'witness_v1_taproot') return [script.subarray(2)]
  const key = keyOf(script, network)
  return key === undefined ? (multisigOf(script, network)?.keys ?? []) : [key]
}

/**
 * Returns the public keys that an input shows, each once: among its arguments, and in the scripts that it reveals. They are recognised by
 * their form, so that other data may look like one.
 * @param spent the script of the output that it spends.
 */
export function keysOfSpend(
  input: Pick<TxInput, 'scriptSig' | 'witness'>,
  spent: Buffer,
  network: Network,
): readonly Buffer[] {
  const { scriptSig, witness } = spendItems(input, spent, network)
  const { redeemScript, witnessScript } = innerScripts(input, spent, network)
  const keys = [...scriptSig, ...witness]
    .filter(({ kind }) => kind === 'public_key' || kind === 'dilithium_key')
    .map(({ data }) => data)
  for (const script of [redeemScript, witnessScript])
    for (const instruction of script === undefined ? [] : opcodes(script)) {
      const data = instruction?.data
      if (data !== undefined && (isPlainKey(data) || (network.dilithium && isDilithiumKey(data))))
        keys.push(data)
    }
  return [...new Map(keys.map((key) => [key.toString('hex'), key])).values()]
}
