import { describe, expect, it } from 'vitest'
import { blockTag } from '../../../pipelines/chain/block.js'
import { assertOwnTags, BlockTagRepeated } from '../../../pipelines/tables/tags.js'
import { useDatabase } from '../../harness/engine.js'

describe('the tags of blocks', () => {
  const db = useDatabase()
  const hashOf = (start: string, tag: string): string => start.repeat(28) + tag
  const write = async (height: number, hash: string): Promise<void> =>
    db().command(
      `INSERT INTO blocks (height, hash, block_tag) SELECT ${String(height)}, unhex('${hash}'), ${String(blockTag(hash))}`,
    )

  it('must identify them at their height, and may be repeated at others', async () => {
    const [one, other, same] = [hashOf('11', 'ffffffff'), hashOf('22', '00000001'), hashOf('33', 'ffffffff')]
    await write(7, one)
    await write(7, other)
    await write(8, same)
    const blocks = [
      { height: 7, hash: one },
      { height: 7, hash: other },
      { height: 8, hash: same },
    ]
    await assertOwnTags(db(), blocks)
    await write(7, one)
    await assertOwnTags(db(), blocks)
    await write(7, same)
    const refused = assertOwnTags(db(), [{ height: 7, hash: same }])
    await expect(refused).rejects.toThrow(BlockTagRepeated)
    await expect(refused).rejects.toThrow(one)
    // Other blocks of the same heights are not affected.
    await assertOwnTags(db(), [
      { height: 7, hash: other },
      { height: 8, hash: same },
    ])
    await assertOwnTags(db(), [])
  })
})
