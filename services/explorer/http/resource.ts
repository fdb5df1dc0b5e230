import { type Coding, compress } from '../../compression.js'
import { codingFor } from '../../http/content-coding.js'
import { matchesTag } from '../../http/etag.js'
import type { Answer, Headers, Request } from './answer.js'

/** A body that does not depend on the request: it is compressed once in each coding. */
export class Resource {
  readonly #coded: Partial<Record<Coding, Promise<Buffer>>> = {}

  /**
   * @param headers of each answer; `vary` names accept-encoding.
   * @param etag the ETag of the uncompressed body; empty for none.
   */
  constructor(
    readonly body: Buffer,
    private readonly headers: Headers,
    private readonly etag = '',
  ) {}

  async answer({
    method,
    acceptEncoding,
    ifNoneMatch,
  }: Pick<Request, 'method' | 'acceptEncoding' | 'ifNoneMatch'>): Promise<Answer> {
    const coding = codingFor(this.body, acceptEncoding)
    const etag = coding === undefined ? this.etag : `${this.etag.slice(0, -1)}-${coding}"`
    const headers: Headers = this.etag === '' ? this.headers : [['etag', etag], ...this.headers]
    const body =
      coding === undefined ? this.body : await (this.#coded[coding] ??= compress(this.body, coding))
    const isKnown = this.etag !== '' && ifNoneMatch !== '' && matchesTag(ifNoneMatch, etag)
    if (isKnown && method !== 'POST') return { status: 304, headers, body }
    return { status: 200, headers: [...headers, ...codingHeader(coding)], body }
  }
}

const codingHeader = (coding: Coding | undefined): Headers =>
  coding === undefined ? [] : [['content-encoding', coding]]
