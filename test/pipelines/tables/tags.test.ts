import { describe, expect, it } from 'vitest'
import { assertOwnTags, BlockTagRepeated } from '../../../pipelines/tables/tags.js'

describe('the tags of blocks', () => {
  const hashOf = (start: string, tag: string): string => start.repeat(28) + tag

  it('must identify them at their height, and may be repeated at others', () => {
    const [one, other, same] = [hashOf('11', 'ffffffff'), hashOf('22', '00000001'), hashOf('33', 'ffffffff')]
    const blocks = [
      { height: 7, hash: one },
      { height: 7, hash: other },
      { height: 8, hash: same },
    ]
    assertOwnTags(blocks, blocks)
    assertOwnTags(blocks, [...blocks, ...blocks])
    const written = [...blocks, { height: 7, hash: same }]
    const check = (): void => {
      assertOwnTags([{ height: 7, hash: same }], written)
    }
    expect(check).toThrow(BlockTagRepeated)
    expect(check).toThrow(one)
    // Other blocks of the same heights are not affected.
    assertOwnTags(blocks.slice(1), written)
    assertOwnTags([], written)
  })
})
