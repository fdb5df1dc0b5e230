import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MovesMaker } from '../../../../pipelines/materialize/apply/script-changes-maker.js'

const ended = (thread: Worker): Promise<unknown> =>
  new Promise((resolve) => {
    thread.once('exit', resolve)
  })

describe('the thread that decodes blocks', () => {
  let maker: MovesMaker | undefined

  afterEach(async () => {
    vi.restoreAllMocks()
    await maker?.close()
  })

  /** A maker that has answered once, with nothing under way, and its thread. */
  async function idle(): Promise<{ readonly maker: MovesMaker; readonly thread: Worker }> {
    const post = vi.spyOn(Worker.prototype, 'postMessage')
    const made = new MovesMaker()
    await made.make([], 'regtest')
    const thread: unknown = post.mock.contexts[0]
    if (!(thread instanceof Worker)) throw new Error('nothing was asked of a thread')
    return { maker: made, thread }
  }

  it('refuses calls after it has died while nothing was asked of it, instead of letting them wait', async () => {
    const { thread, ...rest } = await idle()
    ;({ maker } = rest)
    const gone = ended(thread)
    await thread.terminate()
    await gone
    for (let call = 0; call < 2; call++)
      await expect(maker.make([], 'regtest')).rejects.toThrow('the thread that decodes blocks ended with 1')
  })

  it('refuses calls after an error has ended it, with that error', async () => {
    const { thread, ...rest } = await idle()
    ;({ maker } = rest)
    const gone = ended(thread)
    const noBlock = [{ position: 0, value: new Uint8Array() }]
    await expect(maker.make(noBlock, 'regtest')).rejects.toThrow('not a block')
    await gone
    await expect(maker.make([], 'regtest')).rejects.toThrow('not a block')
  })

  it('refuses calls after it was closed', async () => {
    ;({ maker } = await idle())
    await maker.close()
    await expect(maker.make([], 'regtest')).rejects.toThrow('the thread that decodes blocks ended')
  })
})
