import { generateKeyPair, randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { CertificateFiles } from './certificate.js'

const LOCAL = ['localhost', '127.0.0.1', '::1']
/** Wallets keep the first certificate that they see of a server, and refuse another one: it must last. */
const YEARS = 20
const KEY_BITS = 2_048
const SERIAL_BYTES = 15
/** The types of the names of a certificate, by RFC 5280. */
const DNS_NAME = 2
const IP_ADDRESS = 7

/**
 * Returns the file of a certificate that is signed by itself and of its key, and makes it if it does not exist.
 * @param hosts the names and addresses that it is for, besides the ones of this machine.
 */
export async function selfSignedCertificate(
  file: string,
  hosts: readonly string[],
): Promise<CertificateFiles> {
  const files = { cert: file, key: file }
  if (existsSync(file)) return files
  const own = `${file}.${randomUUID()}`
  await mkdir(dirname(file), { recursive: true })
  try {
    // With its name only when it is complete, and only if no other process of the explorer was first.
    await writeFile(own, await madeFor([...hosts, ...LOCAL]), { mode: 0o600, flush: true })
    await link(own, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(own, { force: true })
  }
  return files
}

/** Returns a key and its certificate as PEM. */
async function madeFor(hosts: readonly string[]): Promise<string> {
  // Imported when needed: it takes 10 MB.
  const { pki, md } = (await import('node-forge')).default
  // By OpenSSL: the library's own generation takes seconds.
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: KEY_BITS })
  const key = pki.privateKeyFromPem(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const certificate = pki.createCertificate()
  certificate.publicKey = pki.rsa.setPublicKey(key.n, key.e)
  // Positive, as RFC 5280 requires.
  certificate.serialNumber = `0${randomBytes(SERIAL_BYTES).toString('hex')}`
  const { notBefore, notAfter } = certificate.validity
  // Clocks of clients may be behind.
  notBefore.setDate(notBefore.getDate() - 1)
  notAfter.setFullYear(notBefore.getFullYear() + YEARS)
  const subject = [{ name: 'commonName', value: hosts[0] ?? '' }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  const altNames = [...new Set(hosts)].map((host) =>
    isIP(host) === 0 ? { type: DNS_NAME, value: host } : { type: IP_ADDRESS, ip: host },
  )
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false },
    { name: 'subjectAltName', altNames },
  ])
  certificate.sign(key, md.sha256.create())
  return pki.privateKeyToPem(key) + pki.certificateToPem(certificate)
}
