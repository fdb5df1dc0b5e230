import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Core } from '../../../../../../services/explorer/core/core.js'
import { HeaderWatch } from '../../../../../../services/explorer/faces/electrum/watches/header-watch.js'

const HASH = '00'.repeat(32)

it('a tip is sent when the index has the blocks that its node has', async () => {
  const header = { version: 1, prevHash: HASH, merkleRoot: HASH, time: 0, bits: 0, nonce: 0 }
  const chainAt = (height: number) => ({ height, tipHash: String(height), tip: header })
  let chain = chainAt(99)
  let adopted = (): void => undefined
  async function* messages(): AsyncGenerator<string> {
    yield 'first'
    await new Promise<void>((resolve) => (adopted = resolve))
    yield 'second'
    await new Promise(() => undefined)
  }
  const core = {
    reader: {
      get chain() {
        return chain
      },
      // As for absences: few blocks are no reason to wait.
      ifBehind: () => undefined,
      isNodeBeyond: ({ height }: { height: number }) => height < 104,
    },
    feed: { messages },
    defect: (error: unknown) => {
      throw error
    },
  } as unknown as Core
  const sent: string[] = []
  const watch = new HeaderWatch(core, () => undefined)
  watch.add({ tipChanged: (hash: string) => void sent.push(hash) })
  watch.start()
  await sleep(200)
  expect(sent).toEqual([])
  chain = chainAt(104)
  adopted()
  await expect.poll(() => sent).not.toEqual([])
  expect([...new Set(sent)]).toEqual(['104'])
  watch.close()
})
