import { type Encoded, type Encoding, encodedText, JSON_ENCODING } from '../../core/answering/encoding.js'
import type { Media } from '../../http/media.js'

/** The label of the face's routes in metrics, before their paths. */
export const ESPLORA = '/esplora'

const media = (type: string): Media => ({ type, prefix: ESPLORA })

/** JSON as Esplora has it: amounts are numbers. */
export const JSON_FORM: Encoding = {
  name: 'esplora-json',
  media: media('application/json'),
  encode: (answer) => JSON_ENCODING.encode(answer),
}

/** Plain text: hashes, heights, hexadecimal, errors. */
export const TEXT_FORM: Encoding = {
  name: 'esplora-text',
  media: media('text/plain'),
  encode: (answer): Encoded => encodedText(answer as string),
}

/** Serialised transactions and blocks. */
export const BYTES_FORM: Encoding = {
  name: 'esplora-bytes',
  media: media('application/octet-stream'),
  encode: (answer): Encoded => ({ body: answer as Buffer, etag: '' }),
}
