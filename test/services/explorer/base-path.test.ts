import { describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../../services/simnode/node.js'
import { Pipeline } from '../../harness/pipeline.js'

describe('a base path that is a path of the explorer itself', () => {
  it.each(['/block', '/mempool', '/api', '/de', '/health', '/tx/deeper'])(
    'is refused: %s',
    async (basePath) => {
      const node: Simnode = await startSimnode({ blocks: 1 })
      const starting = Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        explorer: { basePath },
      })
      await expect(starting).rejects.toThrow(`BASE_PATH ${basePath} is a path of the explorer itself`)
      await node.close()
    },
  )
})
