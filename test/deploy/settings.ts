import { text } from './tools.js'
import { loadConfig, settingsTable } from '../../services/config.js'

/** The variables that services/config.ts declares. */
export const DECLARED: ReadonlySet<string> = new Set(
  [...settingsTable().matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name),
)

/** Variables that Node.js itself reads. */
const NODES_OWN = new Set(['NODE_ENV', 'NODE_EXTRA_CA_CERTS'])

/** Returns the errors of an environment for one of the project's processes. */
export function faultsOf(env: Readonly<Record<string, string>>): string[] {
  const unknown = Object.keys(env).filter((name) => !DECLARED.has(name) && !NODES_OWN.has(name))
  try {
    loadConfig(env)
    return unknown
  } catch (error) {
    return [...unknown, error instanceof Error ? error.message : String(error)]
  }
}

/** Returns the arguments of node for a service: the flags of its npm script, and its script. */
export function commandOf(service: string): string[] {
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> }
  const flags = scripts[service]?.split(' ').filter((word) => word.startsWith('--')) ?? []
  return [...flags, `dist/services/${service}/main.js`]
}
