import { chromium } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { READS } from '../../services/explorer/core/reads/index.js'
import { CHROMIUM } from '../harness/chromium.js'
import { startBare } from '../services/explorer/bare-server.js'

describe.skipIf(CHROMIUM === undefined)('GraphiQL in Chromium', () => {
  it('runs a query and shows the schema, under its content security policy and without other hosts', async () => {
    const bare = await startBare({ reads: READS })
    const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
      const errors: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(bare.url) && !request.url().startsWith('data:'))
          errors.push(request.url())
      })
      page.on('pageerror', ({ message }) => errors.push(message))
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      await page.goto(`${bare.url}/graphql`)
      const editor = page.locator('.graphiql-query-editor .CodeMirror')
      await editor.waitFor()
      await editor.click()
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type('{ chain { height ')
      await page.locator('.graphiql-execute-button').click()
      await page.locator('.result-window', { hasText: '"height": -1' }).waitFor()
      await page.locator('button[aria-label="Show Documentation Explorer"]').click()
      await page.locator('.graphiql-doc-explorer', { hasText: 'Query' }).waitFor()
      expect(errors).toEqual([])
    } finally {
      await browser.close()
      bare.close()
    }
  })
})
