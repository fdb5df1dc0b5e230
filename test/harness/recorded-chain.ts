import { parseBlock } from '../../pipelines/chain/block.js'
import type { Network } from '../../pipelines/chain/networks.js'
import type { ConnectedBlock } from '../../pipelines/materialize/apply/decode.js'
import { baseUnits, type NodeBlock } from './node-json.js'
import type { Frame } from './recording.js'

/** Returns the chain at the end of a recording, lowest block first, as the node printed it. */
export function finalChain(
  frames: readonly Frame[],
): { readonly header: string; readonly block: NodeBlock }[] {
  const chain: { readonly header: string; readonly block: NodeBlock }[] = []
  for (const { connected, disconnected } of frames) {
    chain.length -= disconnected.length
    chain.push(...connected)
  }
  return chain
}

/** Returns a recorded block as the materializer decodes it from its event. */
export function connectedBlock(
  { header, block }: { readonly header: string; readonly block: NodeBlock },
  network: Network,
): ConnectedBlock {
  const count = Buffer.alloc(3)
  count.writeUInt8(0xfd)
  count.writeUInt16LE(block.tx.length, 1)
  const raw = Buffer.concat([
    Buffer.from(header, 'hex'),
    block.tx.length < 0xfd ? Buffer.from([block.tx.length]) : count,
    ...block.tx.map(({ hex }) => Buffer.from(hex, 'hex')),
  ])
  const prevouts = block.tx.flatMap(({ vin }) =>
    vin.flatMap(({ prevout }) =>
      prevout === undefined
        ? []
        : [
            {
              value: baseUnits(prevout.value),
              script: Buffer.from(prevout.scriptPubKey.hex, 'hex'),
              height: prevout.height,
            },
          ],
    ),
  )
  return {
    ...parseBlock(raw, network),
    height: block.height,
    medianTime: block.mediantime,
    chainwork: block.chainwork,
    prevouts,
  }
}
