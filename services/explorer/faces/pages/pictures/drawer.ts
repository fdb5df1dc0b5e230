import { BoundedThread } from '../../../../../pipelines/worker-thread.js'
import { Overloaded } from '../../../core/reads/read.js'

/** The maximum number of pictures that wait for others: a second of work. */
const MAX_WAITING = 24

/** Draws pictures one after another, on a thread that ends when it has been idle. */
export class Drawer {
  readonly #thread = new BoundedThread<string, Uint8Array>(
    'services/explorer/faces/pages/pictures/drawing-thread',
  )
  #waiting = 0

  /** Draws a document of SVG as PNG. @throws Overloaded if too many others wait. */
  async draw(svg: string): Promise<Buffer> {
    if (this.#waiting >= MAX_WAITING) throw new Overloaded('too many pictures are being drawn')
    this.#waiting++
    try {
      const { buffer, byteOffset, length } = await this.#thread.run(svg)
      return Buffer.from(buffer, byteOffset, length)
    } finally {
      this.#waiting--
    }
  }
}
