import {
  describeSwitch,
  replaceDatabase,
  type ReplacementParts,
} from '../../pipelines/materialize/rebuild/replacement.js'
import { noteServing } from '../../pipelines/tables/serving.js'

/**
 * Builds a second database and switches over to it.
 * @param crashAt `before-switch` or `after-switch` kills the process at that point, for crash tests.
 * @returns a message for the operator. @throws as `replaceDatabase`.
 */
export async function replayInto(
  parts: Omit<ReplacementParts, 'reach'>,
  name: string,
  crashAt?: string,
): Promise<string> {
  const { configured, serving } = parts
  if (name === serving.name && name !== configured.name) {
    await noteServing(configured, name)
    return `${name} already serves instead of ${configured.name}`
  }
  const reach = (point: string): void => {
    if (point === crashAt) process.kill(process.pid, 'SIGKILL')
  }
  const head = await replaceDatabase({ ...parts, reach }, name)
  return describeSwitch(serving, name, head)
}
