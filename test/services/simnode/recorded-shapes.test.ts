import { expect, test } from 'vitest'
import { BITCOIN_REGTEST, REGTEST } from '../../../pipelines/chain/networks.js'
import { parseTx } from '../../../pipelines/chain/transaction.js'
import { openTxJson } from '../../../services/simnode/rpc/block-json.js'
import { ScriptJson } from '../../../services/simnode/rpc/script-json.js'
import { baseUnits } from '../../harness/node-json.js'
import { readFrames } from '../../harness/recording.js'

test.each([
  [REGTEST, undefined, 2917],
  [BITCOIN_REGTEST, 'bitcoin-regtest', 2195],
])(
  "the JSON of every recorded transaction of $name equals the real node's, key by key",
  (network, recording, count) => {
    const scripts = new ScriptJson(network)
    let compared = 0
    for (const { connected } of readFrames(recording)) {
      for (const recorded of connected.flatMap(({ block }) => block.tx)) {
        const raw = Buffer.from((recorded as typeof recorded & { hex: string }).hex, 'hex')
        const spent = recorded.vin.flatMap(({ prevout }) =>
          prevout === undefined
            ? []
            : {
                value: baseUnits(prevout.value),
                script: Buffer.from(prevout.scriptPubKey.hex, 'hex'),
                height: prevout.height,
                coinbase: (prevout as typeof prevout & { generated: boolean }).generated,
              },
        )
        const json = `${openTxJson({ ...parseTx(raw), raw }, scripts, { spent, withPrevouts: true })}}`
        expect(JSON.stringify(JSON.parse(json))).toBe(JSON.stringify(recorded))
        compared++
      }
    }
    expect(compared).toBe(count)
  },
)
