/**
 * The maximum size of a request line with its headers that arrives in several TCP segments. uWebSockets reads the variable when
 * it is loaded. Its default is 4 KiB, less than the longest URL that the explorer accepts.
 */
// eslint-disable-next-line no-restricted-properties -- written for a library, not read
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024)
