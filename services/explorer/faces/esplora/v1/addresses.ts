import { Type } from '@sinclair/typebox'
import { decodeAddress } from '../../../../../pipelines/chain/address.js'
import { scriptType, type ScriptType, witnessProgram } from '../../../../../pipelines/chain/script.js'
import { declareRead, networkIn } from '../../../core/reads/read.js'
import { text } from '../arguments.js'

/** The types of which a node says that the address is that of a script. */
const SCRIPTS: ReadonlySet<ScriptType> = new Set([
  'scripthash',
  'witness_v0_scripthash',
  'witness_v1_taproot',
  'anchor',
])
/** The types of which a node says that the address is that of a key. It says neither of other types. */
const NO_SCRIPTS: ReadonlySet<ScriptType> = new Set(['pubkeyhash', 'witness_v0_keyhash'])

/** Returns what the node's `validateaddress` returns for an address, without the places of its errors. */
export const validateAddress = declareRead({
  name: 'mempoolSpaceValidateAddress',
  path: '/v1/validate-address/:address',
  fresh: 'head',
  args: { address: text('address') },
  answer: Type.Unknown(),
  resolve(context, { address }) {
    const network = networkIn(context)
    const script = decodeAddress(address, network)?.script
    if (script === undefined) return { isvalid: false, error_locations: [], error: 'Invalid address' }
    const type = scriptType(script, network)
    const witness = witnessProgram(script)
    const isScript = SCRIPTS.has(type) ? true : NO_SCRIPTS.has(type) ? false : undefined
    return {
      isvalid: true,
      address,
      scriptPubKey: script.toString('hex'),
      ...(isScript === undefined ? {} : { isscript: isScript }),
      iswitness: witness !== undefined,
      ...(witness === undefined || type === 'anchor'
        ? {}
        : { witness_version: witness.version, witness_program: witness.program.toString('hex') }),
    }
  },
})
