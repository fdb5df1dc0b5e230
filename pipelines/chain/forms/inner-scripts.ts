import type { Network } from '../networks.js'
import { readScript, type ScriptType, scriptType, witnessProgram } from '../script.js'

/** The scripts that a spend reveals, and the script of its output only commits to. */
export interface InnerScripts {
  /** The script that a P2SH output has the hash of. */
  readonly redeemScript?: Buffer
  /** The script that a P2WSH output has the hash of, or a leaf of the tree of a P2TR or P2MR output. */
  readonly witnessScript?: Buffer
}

/** The first byte of an annex, which may be the last of several items of a witness of P2TR (BIP 341). */
const ANNEX = 0x50

/** Returns the witness of a P2TR spend without its annex. */
export function withoutAnnex(witness: readonly Buffer[]): readonly Buffer[] {
  return witness.length > 1 && witness.at(-1)?.[0] === ANNEX ? witness.slice(0, -1) : witness
}

/**
 * Returns the scripts that an input reveals.
 * @param spent the script of the output that it spends.
 */
export function innerScripts(
  { scriptSig, witness }: { readonly scriptSig: Buffer; readonly witness: readonly Buffer[] },
  spent: Buffer,
  network: Network,
): InnerScripts {
  const type = scriptType(spent, network)
  if (type !== 'scripthash') return ofWitness(type, witness)
  const redeemScript = readScript(scriptSig)?.at(-1)?.data
  if (redeemScript === undefined) return {}
  const isProgram = witnessProgram(redeemScript)?.version === 0
  return { redeemScript, ...(isProgram ? ofWitness(scriptType(redeemScript, network), witness) : {}) }
}

function ofWitness(type: ScriptType, witness: readonly Buffer[]): InnerScripts {
  switch (type) {
    case 'witness_v0_scripthash':
      return revealed(witness.at(-1))
    case 'witness_v1_taproot':
    case 'witness_v2_p2mr': {
      // The last item is the control block; a spend by key has one item alone.
      const items = type === 'witness_v1_taproot' ? withoutAnnex(witness) : witness
      return items.length > 1 ? revealed(items.at(-2)) : {}
    }
    default:
      return {}
  }
}

const revealed = (script: Buffer | undefined): InnerScripts =>
  script === undefined ? {} : { witnessScript: script }
