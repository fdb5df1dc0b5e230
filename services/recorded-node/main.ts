import { parseArgs } from 'node:util'
import { StartRefused, UsageError } from '../../pipelines/errors.js'
import { runService, untilAborted } from '../process/lifecycle.js'
import { startRecordedNode, type RecordedNodeOptions } from './node.js'

const USAGE = 'npm run recorded-node -- --timeline FILE --port N [--frame K]'

await runService('recorded-node', async ({ logger, signal, args }) => {
  const options = optionsOf(args)
  const node = await startRecordedNode(options).catch((error: unknown) => {
    throw new StartRefused(error instanceof Error ? error.message : String(error))
  })
  logger.info({ url: node.url, frame: node.frame(), frames: node.frames }, 'recorded node listening')
  await untilAborted(signal)
  await node.close()
})

function optionsOf(args: readonly string[]): RecordedNodeOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        timeline: { type: 'string' },
        port: { type: 'string' },
        frame: { type: 'string', default: '0' },
      },
    })
    if (values.timeline === undefined || values.port === undefined)
      throw new Error('--timeline and --port are required')
    return { timeline: values.timeline, port: number(values.port, 65_535), frame: number(values.frame, 1e9) }
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
  }
}

function number(text: string, most: number): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > most)
    throw new Error(`'${text}' is not an integer up to ${String(most)}`)
  return Number(text)
}
