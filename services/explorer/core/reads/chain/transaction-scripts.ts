import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { asmOf } from '../../../../../pipelines/chain/forms/asm.js'
import { innerScripts } from '../../../../../pipelines/chain/forms/inner-scripts.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { parseBody, readTx, type TxInput } from '../../../../../pipelines/chain/transaction.js'
import { transactionByTxid } from '../../tables/transactions.js'
import { hash } from '../arguments.js'
import { declareRead, networkIn } from '../read.js'
import { type InputScripts, TransactionScripts } from '../shapes.js'
import { findTransaction } from './transaction-details.js'

/** The most characters of an opcode of one byte, with a space. */
const CHARACTERS_PER_BYTE = 24
/** The size of a script up to which it is written: those of standard transactions are smaller. */
const MAX_SCRIPT = 10_000

/** Returns a script as opcodes; null if it is empty or too long. */
export function asmText(script: Buffer | undefined, network: Network): string | null {
  if (script === undefined || script.length === 0 || script.length > MAX_SCRIPT) return null
  return asmOf(script, network)
}

/** Returns the scripts of an input. @param spent the script of the output that it spends, undefined if there is none. */
export function inputScripts(
  input: Pick<TxInput, 'scriptSig' | 'witness'>,
  spent: Buffer | undefined,
  network: Network,
): Omit<InputScripts, 'vin'> {
  const { redeemScript, witnessScript } = spent === undefined ? {} : innerScripts(input, spent, network)
  return {
    script_sig_asm: asmText(input.scriptSig, network),
    redeem_script_asm: asmText(redeemScript, network),
    witness_script_asm: asmText(witnessScript, network),
  }
}

export const transactionScripts = declareRead({
  name: 'transactionScripts',
  about: 'The scripts of a transaction as opcodes, and those that its inputs reveal.',
  path: '/tx/:txid/scripts',
  fresh: 'objects',
  args: { txid: hash },
  answer: TransactionScripts,
  notFound: ['Transaction not found'],
  async resolve(context, { txid }) {
    const { tables, chain, size, validity } = context
    const match = await findTransaction(txid, context, (key) =>
      transactionByTxid(tables, chain.blocks, key, undefined, ({ bodySize, witnessSize }) =>
        size.reserve(CHARACTERS_PER_BYTE * (bodySize + witnessSize)),
      ),
    )
    const isConfirmed = match.unconfirmed === undefined
    const network = networkIn(context)
    const tx = isConfirmed
      ? parseBody(match.row.body, match.row.witness)
      : readTx(new ByteReader(match.unconfirmed.raw))
    const coins = isConfirmed ? decodePrevouts(match.row.prevouts) : match.unconfirmed.coins
    if (isConfirmed) validity.finalFrom(match.row.height)
    return {
      txid: tx.txid,
      inputs: tx.inputs.map((input, vin) => ({ vin, ...inputScripts(input, coins[vin]?.script, network) })),
      outputs: tx.outputs.map(({ script }, vout) => ({ vout, script_asm: asmText(script, network) })),
    }
  },
})
