import { expect, test } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import { parseTx } from '../../../pipelines/chain/transaction.js'
import { openTxJson } from '../../../services/simnode/rpc/block-json.js'
import { ScriptJson } from '../../../services/simnode/rpc/script-json.js'
import { baseUnits } from '../../harness/node-json.js'
import { readFrames } from '../../harness/recording.js'

test("the JSON of every recorded transaction equals the real node's JSON of the same bytes, key by key", () => {
  const scripts = new ScriptJson(REGTEST)
  let compared = 0
  for (const { connected } of readFrames()) {
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
  expect(compared).toBe(2917)
})
