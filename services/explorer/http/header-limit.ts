/**
 * uWebSockets reads it when it is loaded: how long the head of a request may be that comes in several segments. By default it is
 * 4 KiB, less than the URL that we serve.
 */
// eslint-disable-next-line no-restricted-properties -- written for a library, not read
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024)
