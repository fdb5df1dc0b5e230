import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { announceEndpoint, withdrawEndpoint } from '../process/discovery.js'
import { runService, untilAborted } from '../process/lifecycle.js'
import { Simnode } from './node.js'
import { readCommandLine, USAGE } from './options.js'

await runService('simnode', async ({ config, logger, signal, args }) => {
  const { node: options, stateFile, help } = readCommandLine(args, config.chain)
  if (help) {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  const file = stateFile ?? join(config.dataDir, 'simnode.json')
  let logged = 0
  const onHistory = (height: number): void => {
    if (height - logged < 5000) return
    logged = height
    logger.info({ height, of: options.blocks }, 'building the chain')
  }
  const node = new Simnode({ ...options, signal, onHistory })
  await node.start()
  if (!signal.aborted) {
    await mkdir(dirname(file), { recursive: true })
    await announceEndpoint(file, { url: node.url, pid: process.pid })
    logger.info({ url: node.url, height: node.chain.tip.height, hash: node.chain.tip.hash }, 'node listening')
    await untilAborted(signal)
    await withdrawEndpoint(file)
  }
  await node.close()
})
