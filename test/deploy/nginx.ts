import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:net'
import { until } from '../harness/until.js'
import { freePort } from '../../services/process/ports.js'
import { ran } from './tools.js'

/** The local ports of the servers behind the proxy. */
export interface Behind {
  readonly explorer: number
  readonly explorerGrpc: number
  readonly docs: number
}

/** deploy/proxy/nginx.conf, unchanged except for ports, folders and upstreams; with a certificate of its own. */
export class Nginx {
  #child: ChildProcess | undefined
  #said = ''

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    /** The TLS port. */
    readonly port: number,
    /** The plain HTTP port. */
    readonly plainPort: number,
  ) {}

  /** Writes the files; `openssl` makes the certificate. */
  static async prepare(programs: { nginx: string; openssl: string }, behind: Behind): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), 'headwater-nginx-'))
    // The workers of a process of root are those of another user, who writes large bodies here.
    chmodSync(folder, 0o755)
    const [port, plain, health] = [await freePort(), await freePort(), await freePort()]
    mkdirSync(join(folder, 'tls'))
    const key = ['-keyout', join(folder, 'tls/privkey.pem'), '-out', join(folder, 'tls/fullchain.pem')]
    const subject = ['-subj', '/CN=explorer.example', '-days', '1']
    const made = ran(programs.openssl, ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...key, ...subject])
    if (made.status !== 0) throw new Error(made.output)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
      .join('\n')
    const replaced = (text: string, changes: readonly (readonly [string, string])[]): string =>
      changes.reduce((changed, [from, to]) => {
        if (!changed.includes(from)) throw new Error(`there is no '${from}' in the proxy's files any more`)
        return changed.replaceAll(from, to)
      }, text)
    const conf = replaced(readFileSync('deploy/proxy/nginx.conf', 'utf8'), [
      ['listen 443 ', `listen 127.0.0.1:${String(port)} `],
      ['listen 80 ', `listen 127.0.0.1:${String(plain)} `],
      ['127.0.0.1:8085', `127.0.0.1:${String(health)}`],
      ['pid /run/nginx.pid;', `pid ${join(folder, 'nginx.pid')};`],
      ['access_log /dev/stdout timed;', 'access_log off;'],
      ['/dev/stderr', 'stderr'],
      ['http {\n', `http {\n${temporary}\n`],
    ]).replace(/^\s*listen \[::\]:.*$/gm, '')
    const upstreams = replaced(readFileSync('deploy/proxy/upstreams-compose.conf', 'utf8'), [
      ['explorer:8080', `127.0.0.1:${String(behind.explorer)}`],
      ['explorer:50051', `127.0.0.1:${String(behind.explorerGrpc)}`],
      ['docs:8081', `127.0.0.1:${String(behind.docs)}`],
    ])
    writeFileSync(join(folder, 'nginx.conf'), conf)
    writeFileSync(join(folder, 'upstreams.conf'), upstreams)
    copyFileSync('deploy/proxy/failures.conf', join(folder, 'failures.conf'))
    return new Nginx(programs.nginx, folder, port, plain)
  }

  /** Returns the output of `nginx -t`; empty if the configuration is valid. */
  test(): string {
    const { status, output } = ran(this.program, ['-t', ...this.#arguments()])
    const faults = output.split('\n').filter((line) => /\[(warn|error|emerg|alert|crit)\]/.test(line))
    return status === 0 ? faults.join('\n') : output
  }

  async start(): Promise<void> {
    this.#child = spawn(this.program, [...this.#arguments(), '-g', 'daemon off;'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child.stderr?.on('data', (text: Buffer) => (this.#said += text.toString()))
    await until(
      'nginx listens',
      () =>
        new Promise<boolean>((resolve, reject) => {
          if (this.#child?.exitCode !== null) reject(new Error(this.#said))
          const socket = connect(this.port, '127.0.0.1', () => {
            socket.destroy()
            resolve(true)
          }).on('error', () => {
            resolve(false)
          })
        }),
    )
  }

  async close(): Promise<void> {
    if (this.#child !== undefined && this.#child.exitCode === null) {
      const gone = once(this.#child, 'exit')
      this.#child.kill('SIGTERM')
      await gone
    }
    rmSync(this.folder, { recursive: true })
  }

  #arguments(): string[] {
    return ['-p', this.folder, '-c', join(this.folder, 'nginx.conf'), '-e', 'stderr']
  }
}
