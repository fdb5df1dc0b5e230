import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { coded, StartRefused } from '../../pipelines/errors.js'

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url))
/** The dependency plugin with its version, because the default version depends on the version of Maven. */
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
/** The maximum time of the download (45 files, 43 MB). */
const INSTALL_MS = 600_000
const LEAST_JAVA = 17

/** Kafka cannot run on this machine; the message names what is missing. */
export class NoKafka extends coded('HW_KAFKA_MISSING', StartRefused) {}

/**
 * Returns the folder with the libraries of Kafka, after downloading them with Maven if they are missing.
 * @throws NoKafka if Java 17 or Maven is missing, or the download fails.
 */
export async function kafkaLibraries(cache: string): Promise<string> {
  assertJava()
  const pom = await readFile(POM)
  const folder = join(cache, createHash('sha256').update(pom).digest('hex').slice(0, 16))
  // The folder is renamed into place once it is complete.
  if (existsSync(folder)) return folder
  if (spawnSync('mvn', ['--version']).status !== 0) throw new NoKafka('Maven (mvn) is not installed')
  const unfinished = `${folder}.${String(process.pid)}`
  await mkdir(unfinished, { recursive: true })
  try {
    await writeFile(join(unfinished, 'pom.xml'), pom)
    await maven(unfinished)
    await copyFile(POM, join(unfinished, 'libs', 'pom.xml'))
    await rename(join(unfinished, 'libs'), folder).catch((error: unknown) => {
      // Another process was faster.
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

function assertJava(): void {
  const { status, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' })
  if (status !== 0) throw new NoKafka('Java is not installed')
  const version = Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0)
  if (version < LEAST_JAVA)
    throw new NoKafka(`Java ${String(version)} is too old: Kafka 4 needs ${String(LEAST_JAVA)}`)
}

function maven(folder: string): Promise<void> {
  const goal = [`${PLUGIN}:copy-dependencies`, '-DoutputDirectory=libs', '-DincludeScope=runtime']
  const child = spawn('mvn', ['-q', '-B', '-f', join(folder, 'pom.xml'), ...goal], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: INSTALL_MS,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new NoKafka(`download of Kafka failed: ${output.trim().split('\n').slice(0, 3).join(' ')}`))
    })
  })
}
