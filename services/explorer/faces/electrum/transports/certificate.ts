import { readFile, stat } from 'node:fs/promises'
import { createSecureContext, type Server } from 'node:tls'
import { StartRefused } from '../../../../../pipelines/errors.js'
import type { Logger } from '../../../../../pipelines/logger.js'

/** The files of a certificate and of its private key, as PEM. The first one may contain the certificates of its issuers too. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

const LOOK_MS = 2_000

/** Returns certificate and key. @throws StartRefused if they cannot be read or do not belong together. */
export async function readCertificate(files: CertificateFiles): Promise<{ cert: Buffer; key: Buffer }> {
  try {
    const [cert, key] = await Promise.all([readFile(files.cert), readFile(files.key)])
    createSecureContext({ cert, key })
    return { cert, key }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefused(
      `Cannot use ELECTRUM_TLS_CERT ${files.cert} with ELECTRUM_TLS_KEY ${files.key}: ${reason}`,
    )
  }
}

/**
 * Uses a certificate for new connections when its files have changed, as certificate authorities with short lifetimes need. One that cannot
 * be used is logged, and the former one stays.
 * @returns a function that ends this.
 */
export function followCertificate(server: Server, files: CertificateFiles, logger: Logger): () => void {
  let known: string | undefined
  const look = async (): Promise<void> => {
    const stats = await Promise.all([stat(files.cert), stat(files.key)]).catch(() => undefined)
    const found = stats?.map(({ mtimeMs, size, ino }) => [mtimeMs, size, ino].join()).join(' ')
    const isChanged = known !== undefined && found !== undefined && found !== known
    known = found ?? known
    if (!isChanged) return
    try {
      server.setSecureContext(await readCertificate(files))
      logger.info({ cert: files.cert }, 'uses the new certificate')
    } catch (error) {
      logger.error({ err: error }, 'the new certificate cannot be used, the former one stays')
    }
  }
  void look()
  const timer = setInterval(() => void look(), LOOK_MS).unref()
  return () => {
    clearInterval(timer)
  }
}
