import { html } from '../../../../../design/html.js'
import { limit, page } from '../../../../core/reads/arguments.js'
import { blocks as blocksRead } from '../../../../core/reads/chain/blocks.js'
import { fullness } from '../../components/blocks.js'
import { blockLink, hashLink, minerLink, heading, paged, share } from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage } from '../../page.js'

export const blocks = declarePage({
  name: 'blocks',
  path: '/blocks',
  args: { page, limit: limit(30, 100) },
  async view(context, args) {
    const { t, f, read } = context
    const answer = await read(blocksRead, args)
    const { words: w } = t
    const columns = [
      { title: w.height },
      { title: w.hash },
      { title: w.time },
      { title: w.miner },
      { title: w.transactions, isNumber: true },
      { title: w.size, isNumber: true },
      { title: f.inCoins(w.fees), isNumber: true },
    ]
    const rows = answer.items.map((block) => ({
      id: `b-${block.hash}`,
      cells: [
        blockLink(context, block.height),
        hashLink(context, block.hash),
        f.time(block.timestamp),
        minerLink(context, block.miner_label),
        f.number(block.tx_count),
        html`${f.size(block.size)}${share(fullness(context, block.weight))}`,
        f.bare(block.total_fees),
      ],
    }))
    const path = `/blocks${args.limit === 30 ? '' : `?limit=${String(args.limit)}`}`
    const body = html`${heading(t.blocks.title, t.blocks.about)}
    ${paged(context, answer, path, table(t.blocks.title, columns, rows))}`
    return {
      ...t.blocks,
      body,
      feed: '/blocks',
      json: `/blocks?page=${String(args.page)}&limit=${String(args.limit)}`,
    }
  },
})
