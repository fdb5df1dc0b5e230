import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { faultsOf } from './settings.js'
import { ran, text, tool } from './tools.js'

const FOLDER = 'deploy/systemd'
const units = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.service'))
  .sort()
const analyze = tool('systemd-analyze')
const systemctl = tool('systemctl')
/** On a scale to 10; a unit without any of systemd's restrictions has 9.6. */
const MAX_EXPOSED = 2.5

/** A program that this machine lacks at its path is not an error of the unit. */
const copy = mkdtempSync(join(tmpdir(), 'headwater-units-'))
for (const name of [...units, 'headwater.target'])
  writeFileSync(join(copy, name), text(`${FOLDER}/${name}`).replace('/usr/bin/node', process.execPath))
afterAll(() => {
  rmSync(copy, { recursive: true })
})

/** The keys of all sections together: none of ours occurs in two. */
function entries(unit: string): Map<string, string> {
  return new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]))
}

describe('systemd', () => {
  it('runs every process of production as part of its target', () => {
    expect(units).toEqual([
      'headwater-docs.service',
      'headwater-engine.service',
      'headwater-explorer.service',
      'headwater-materializer.service',
      'headwater-poller.service',
      'headwater-retrieval.service',
      'headwater-webhooks.service',
    ])
    for (const name of units) {
      const unit = entries(text(`${FOLDER}/${name}`))
      const [, process] = /^headwater-(\w+)\.service$/.exec(name) ?? []
      expect(unit.get('ExecStart')).toMatch(new RegExp(` dist/services/${String(process)}/main\\.js$`))
      expect(unit.get('WantedBy')).toBe('headwater.target')
      expect(Object.fromEntries(unit)).toMatchObject({
        NoNewPrivileges: 'yes',
        ProtectSystem: 'strict',
        User: 'headwater',
        Restart: 'always',
      })
    }
  })

  it.skipIf(systemctl === undefined)('enables and disables its units with the target', () => {
    const root = join(copy, 'root')
    const installed = join(root, 'etc/systemd/system')
    mkdirSync(installed, { recursive: true })
    for (const name of [...units, 'headwater.target'])
      writeFileSync(join(installed, name), text(`${FOLDER}/${name}`))
    const wanted = join(installed, 'headwater.target.wants')
    expect(ran(systemctl!, [`--root=${root}`, 'enable', 'headwater.target']).status).toBe(0)
    expect(readdirSync(join(installed, 'multi-user.target.wants'))).toEqual(['headwater.target'])
    expect(readdirSync(wanted).sort()).toEqual(units)
    expect(ran(systemctl!, [`--root=${root}`, 'disable', 'headwater-engine']).status).toBe(0)
    expect(readdirSync(wanted).sort()).toEqual(units.filter((name) => name !== 'headwater-engine.service'))
  })

  it('gives valid settings', () => {
    const env = Object.fromEntries(entries(text(`${FOLDER}/headwater.env.example`)))
    expect(Object.keys(env).length).toBeGreaterThan(5)
    expect(faultsOf(env)).toEqual([])
  })

  it.skipIf(analyze === undefined)('accepts the units', () => {
    const { status, output } = ran(analyze!, [
      'verify',
      ...[...units, 'headwater.target'].map((name) => join(copy, name)),
    ])
    expect(output).toBe('')
    expect(status).toBe(0)
  })

  it.skipIf(analyze === undefined)('reports little exposure', () => {
    for (const name of units) {
      const { output } = ran(analyze!, ['security', '--offline=true', '--no-pager', join(copy, name)])
      const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(output)?.[1])
      expect(exposure, name).toBeLessThan(MAX_EXPOSED)
    }
  })
})
