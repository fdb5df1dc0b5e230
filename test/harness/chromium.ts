import { existsSync } from 'node:fs'

/** Path of a Chromium on this machine, undefined if there is none: then its tests are skipped with a message. */
export const CHROMIUM = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
].find((path) => path !== '' && existsSync(path))
