import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { WebSocket } from 'ws'
import { freePort, isOpen } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { tool } from '../deploy/tools.js'
import { Browsing } from '../harness/browsing.js'
import { CHROMIUM } from '../harness/chromium.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE, sampled } from '../harness/whole.js'

const NGINX = tool('nginx')
const BASE = '/explorer'

/** The configuration on the page about proxies, which removes the path, or passes it on. */
async function locationOf(kind: 'removes' | 'passes'): Promise<string> {
  const page = await readFile('content/operate/proxy.md', 'utf8')
  const shown = /```nginx\n([^`]*location \/explorer\/ [\s\S]*?)```/.exec(page)?.[1] ?? ''
  expect(shown).toContain('proxy_pass http://explorer/;')
  return kind === 'removes' ? shown : shown.replace('http://explorer/;', 'http://explorer;')
}

describe.skipIf(NGINX === undefined || CHROMIUM === undefined).each(['removes', 'passes'] as const)(
  'an explorer below a path that the proxy %s',
  (kind) => {
    let node: Simnode
    let pipeline: Pipeline
    let folder: string
    let proxy: ChildProcess
    let url: string
    let browsing: Browsing

    beforeAll(async () => {
      node = await startSimnode({ seed: 'base path', blocks: 40, txsPerBlock: 4, mix: 'rich' })
      pipeline = await Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        rankingTail: 0,
        explorer: { auditEveryMs: 0, basePath: BASE, docsUrl: 'https://docs.example/' },
      })
      await level()
      folder = await mkdtemp(join(tmpdir(), 'headwater-base-'))
      // The workers of a process of root are those of another user.
      await chmod(folder, 0o755)
      const port = await freePort()
      url = `http://127.0.0.1:${String(port)}`
      await writeFile(
        join(folder, 'nginx.conf'),
        `pid ${folder}/nginx.pid; error_log stderr; events {}
        http {
          ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/${each};`).join('\n')}
          access_log off;
          map $http_upgrade $connection_header { default upgrade; '' ''; }
          upstream explorer { server ${new URL(pipeline.url).host}; }
          server { listen 127.0.0.1:${String(port)}; ${await locationOf(kind)} }
        }`,
      )
      const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr', '-g', 'daemon off;']
      proxy = spawn(NGINX ?? '', args, { stdio: 'ignore' })
      await until('nginx listens', () => isOpen({ port, host: '127.0.0.1' }))
      browsing = await Browsing.start(`${url}${BASE}`)
    })
    afterAll(async () => {
      await browsing?.close()
      if (proxy?.exitCode === null) {
        const gone = once(proxy, 'exit')
        proxy.kill('SIGTERM')
        await gone
      }
      await pipeline?.close()
      await node?.close()
      await rm(folder, { recursive: true, force: true })
    })

    const level = (): Promise<void> =>
      pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })

    it('has pages whose links all lead to what exists below the path', async () => {
      const { items } = (await pipeline.get('/txs/recent?limit=1')).body
      const { address } = items[0].outputs[0].addresses[0]
      const seen = new Set<string>()
      const beyond = `${BASE}/blocks?page=9999`
      const starts = [`${BASE}/`, `${BASE}/de`, `${BASE}/address/${String(address)}`, `${BASE}/api`, beyond]
      for (const path of [
        ...starts,
        `${BASE}/mining`,
        `${BASE}/search?q=${String(address)}`,
        `${BASE}/nowhere`,
      ]) {
        const page = await fetch(url + path, { headers: { accept: 'text/html' } })
        const text = await page.text()
        expect(text).toContain(`data-endpoint="${BASE}/_explorer/suggest`)
        for (const [, target = ''] of text.matchAll(/(?:href|src|action|data-post|data-socket)="(\/[^"#]*)/g))
          seen.add(target.replaceAll('&amp;', '&'))
      }
      expect(seen.size).toBeGreaterThan(60)
      for (const target of seen) expect(target === BASE || target.startsWith(`${BASE}/`), target).toBe(true)
      for (const target of sampled([...seen], kind === 'removes' ? 1 : 3)) {
        const answer = await fetch(url + target, { redirect: 'manual', headers: { accept: '*/*' } })
        await answer.arrayBuffer()
        // The page that does not exist links to itself, and forms and GraphQL need arguments.
        if (!target.endsWith('/nowhere')) expect([200, 303, 400, 405, 426], target).toContain(answer.status)
        if (answer.status === 400) expect(target).toMatch(/\/api\/v1\/|\/_explorer\/|\/graphql$/)
      }
    })

    it('hides its metrics', async () => {
      for (const path of ['metrics', 'metrics/'])
        expect((await fetch(`${url}${BASE}/${path}`)).status, path).toBe(404)
    })

    it('is found without the slash after it, where it redirects, and by its description', async () => {
      const moved = async (path: string): Promise<string> => {
        const answer = await fetch(url + path, { redirect: 'manual' })
        return `${String(answer.status)} ${answer.headers.get('location') ?? ''}`
      }
      expect(await moved(BASE)).toBe(`301 ${url}${BASE}/`)
      expect(await moved(`${BASE}/blocks/?page=2`)).toBe(`308 ${BASE}/blocks?page=2`)
      expect(await moved(`${BASE}/_explorer/find?q=7`)).toBe(`303 ${BASE}/block/7`)
      expect(await moved(`${BASE}/_explorer/find?lang=de&q=nothing`)).toBe(`303 ${BASE}/de/search?q=nothing`)
      expect(await moved(`${BASE}/_explorer/try?operation=block&heightOrHash=5`)).toBe(
        `303 ${BASE}/api/v1/block/5`,
      )
      expect(await moved(`${BASE}/_explorer/docs`)).toBe('303 https://docs.example/')
      const { servers } = await (await fetch(`${url}${BASE}/openapi.json`)).json()
      expect(servers).toEqual([{ url: BASE }])
      const suggestions = await (await fetch(`${url}${BASE}/_explorer/suggest?lang=de&q=7&base=/evil`)).json()
      expect(suggestions[0].url).toBe(`${BASE}/de/block/7`)
      // Probes and Prometheus reach the port of the explorer itself.
      for (const path of ['/health', '/metrics', '/blocks', BASE, `${BASE}/blocks`])
        expect((await fetch(pipeline.url + path)).status, path).toBe(200)
      expect((await fetch(`${pipeline.url}${BASE}r`)).status).toBe(404)
    })

    it.runIf(IS_WHOLE || kind === 'removes')('keeps pages live, and searches', async () => {
      const page = await browsing.open('/')
      await page.locator('.feed[data-state=live]').waitFor()
      node.simulation.mine({ blocks: 1 })
      await level()
      await page.locator(`[data-key="b-${node.chain.tip.hash}"]`).waitFor()
      await page.keyboard.press('/')
      await page.locator('dialog.search input').fill(`${url}${BASE}/block/7`)
      await page.locator('dialog.search li a').first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(`${url}${BASE}/block/7`)
      await page.locator('.languages summary').click()
      await page.getByRole('link', { name: 'Deutsch' }).click()
      await page.waitForURL(`${url}${BASE}/de/block/7`)
      await browsing.done(page)
      const graphiql = await browsing.open('/graphql')
      await graphiql.locator('.graphiql-container').waitFor()
      await graphiql.locator('.graphiql-execute-button').click()
      await graphiql.locator('.result-window', { hasText: node.chain.tip.hash }).waitFor()
      await browsing.done(graphiql)
      const api = await browsing.open('/api')
      await api.locator('#block summary').click()
      await api.locator('#block input[name=heightOrHash]').fill('5')
      await api.locator('#block button').click()
      await api.locator('#block output strong', { hasText: '200' }).waitFor()
      await browsing.done(api)
    })

    it('forwards the feed and subscriptions', async () => {
      for (const [path, protocols] of [
        ['/ws', []],
        ['/api/v1/ws', []],
        ['/graphql', ['graphql-transport-ws']],
      ] as const) {
        const socket = new WebSocket(`${url.replace('http', 'ws')}${BASE}${path}`, [...protocols])
        await once(socket, 'open')
        socket.close()
      }
    })
  },
)
