import { describe, expect, it } from 'vitest'
import { asksForHtml, prefersJson } from '../../../../services/explorer/http/accept.js'

const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

describe('an Accept header', () => {
  it.each([
    ['', false, false],
    ['*/*', false, false],
    [CHROME, false, true],
    ['text/html', false, true],
    ['application/json', true, false],
    ['application/*', true, false],
    ['application/json;q=0.5, text/html', false, true],
    ['text/html;q=0.5, application/json', true, false],
    ['text/html, application/json', false, true],
    // Libraries of programs.
    ['application/json, text/plain, */*', true, false],
    ['*/*, application/json', true, false],
    ['image/png', false, false],
    ['text/html;q=0, */*', true, false],
    ['TEXT/HTML', false, true],
  ])('%j prefers JSON: %s, asks for a page: %s', (accept, json, html) => {
    expect([prefersJson(accept), asksForHtml(accept)]).toEqual([json, html])
  })
})
