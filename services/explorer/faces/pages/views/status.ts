import { html } from '../../../../design/html.js'
import type { Lag } from '../../../core/following/lags.js'
import type { Condition } from '../../../core/health/condition.js'
import type { Health } from '../../../core/health/health.js'
import { badge, empty, facts, heading, notice, section, stat, stats } from '../components/elements.js'
import { troubleText } from '../components/condition.js'
import { table } from '../components/table.js'
import { declarePage } from '../page.js'

export interface StatusSource {
  health(): Health
  condition(): Condition
  lags(): Promise<readonly Lag[]>
  nodeGaps(): readonly string[]
  readonly ports: ReadonlyMap<string, number>
}

/** Returns the page of the state of this explorer. It is shown without the database too. */
export const status = (source: StatusSource) =>
  declarePage({
    name: 'status',
    path: '/status',
    args: {},
    isOutside: true,
    async view({ t, f }) {
      const health = source.health()
      const lags = await source.lags()
      const gaps = source.nodeGaps()
      const { audit } = health
      const isLive = health.indexerStatus === 'live'
      const isConnected = health.database === 'connected'
      const condition = source.condition()
      const trouble = troubleText(condition, t, f)
      // A comparison of long ago says nothing about now.
      const isCompared = health.indexerStatus !== 'stalled' && isConnected
      const yes = (is: boolean) => badge(is ? 'good' : 'stale', is ? t.words.yes : t.words.no)
      const body = html`${heading(t.status.title, t.status.about)}
      ${trouble === undefined ? undefined : notice(trouble)}
      ${health.indexerError === undefined ? undefined : notice(health.indexerError)}
      ${stats([
        stat(
          t.status.state,
          badge(isLive ? 'good' : 'stale', t.status.states[health.indexerStatus] ?? health.indexerStatus),
        ),
        stat(
          t.status.database,
          badge(isConnected ? 'good' : 'stale', t.status.databases[health.database] ?? health.database),
        ),
        stat(t.status.tip, f.number(health.tipHeight)),
        stat(t.status.node, f.number(health.nodeHeight)),
        ...(health.indexerStatus === 'node_syncing'
          ? [stat(t.status.headers, f.number(health.nodeHeaders))]
          : []),
      ])}
      ${facts([
        [t.status.same, isCompared ? yes(health.tipMatch) : badge('stale', t.status.unknown)],
        [t.status.heartbeat, condition.comparedAt && f.time(condition.comparedAt)],
        [t.status.clients, f.number(health.wsClients)],
      ])}
      ${
        source.ports.size === 0
          ? undefined
          : section(t.status.ports, facts([...source.ports].map(([name, port]) => [name, String(port)])))
      }
      ${
        gaps.length === 0
          ? undefined
          : section(
              t.status.gaps,
              html`<ul>
                ${gaps.map((gap) => html`<li lang="en">${gap}</li>`)}
              </ul>`,
            )
      }
      ${section(
        t.status.audit,
        audit.checkedAt === null
          ? empty(t.status.noAudit)
          : facts([
              [t.status.auditAt, f.time(audit.checkedAt)],
              [t.status.checks, f.number(audit.checks)],
              [
                t.status.differences,
                badge(audit.differences === 0 ? 'good' : 'stale', f.number(audit.differences)),
              ],
              [t.status.error, audit.error],
            ]),
      )}
      ${section(
        t.status.lags,
        table(
          t.status.lags,
          [{ title: t.status.consumer }, { title: t.status.topic }, { title: t.status.lag, isNumber: true }],
          lags.map(({ consumer, topic, lag }) => ({ cells: [consumer, topic, f.number(lag)] })),
        ),
      )}`
      return { ...t.status, body }
    },
  })
