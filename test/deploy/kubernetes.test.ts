import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RETENTION_MS } from '../../pipelines/log/port.js'
import { MAX_BODY } from '../../services/explorer/http/body.js'
import { commandOf, faultsOf } from './settings.js'
import { type Document, documents, ran, tool } from './tools.js'

const FOLDER = 'deploy/kubernetes'
const paths = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .sort()
  .map((name) => `${FOLDER}/${name}`)
const all: Document[] = paths.flatMap((path) => documents(path))
const of = (kind: string): Document[] => all.filter((document) => document.kind === kind)
const containerOf = (deployment: Document): Document => deployment.spec.template.spec.containers[0]
const containers = of('Deployment').flatMap((deployment) =>
  deployment.spec.template.spec.containers.map((container: Document) => ({ deployment, container })),
) as { deployment: Document; container: Document }[]
const validator = tool('kubernetes-validate')

describe('kubernetes', () => {
  it.skipIf(validator === undefined)('is strictly valid by the schemas of the built-in types', () => {
    const { status, output } = ran(validator!, ['--strict', ...paths])
    const faults = output.split('\n').filter((line) => /^(ERROR|FAIL)/.test(line))
    expect(faults).toEqual([])
    expect(status).toBe(0)
    expect(output).toMatch(/INFO.*33-explorer\.yaml passed/)
  })

  it('puts everything into one namespace', () => {
    const elsewhere = all.filter(
      ({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'headwater',
    )
    expect(elsewhere).toEqual([])
  })

  it('runs every process of production, as user nobody, within limits, and with probes where it serves', () => {
    const names = of('Deployment').map(({ metadata }) => metadata.name)
    expect(names.sort()).toEqual(['docs', 'explorer', 'materializer', 'poller', 'webhooks'])
    const processes = containers.map(({ container }) => container.name)
    expect(processes.sort()).toEqual(['docs', 'explorer', 'materializer', 'poller', 'retrieval', 'webhooks'])
    for (const { deployment, container } of containers) {
      expect(container.args).toEqual(commandOf(container.name))
      expect(deployment.spec.template.spec.securityContext.runAsNonRoot).toBe(true)
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
      })
      expect(container.resources.limits.memory).toBeDefined()
      expect(container.image).toMatch(/:\d/)
      if (container.ports !== undefined)
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
          expect(container[probe], `${container.name} ${probe}`).toBeDefined()
    }
  })

  it('defines only pods that its namespace admits', () => {
    expect(of('Namespace')[0].metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
    const pods = podsOf()
    expect(pods.map(({ name }) => name).sort()).toEqual([
      'Deployment docs',
      'Deployment explorer',
      'Deployment materializer',
      'Deployment poller',
      'Deployment webhooks',
      'broker',
      'controller',
      'entity operator',
      'keeper',
      'server',
    ])
    for (const { name, spec, containers } of pods) {
      expect(spec, name).not.toHaveProperty('hostNetwork')
      for (const volume of spec.volumes ?? []) expect(volume, name).not.toHaveProperty('hostPath')
      expect(containers.length, name).toBeGreaterThan(0)
      for (const container of containers) {
        const { runAsNonRoot, runAsUser, seccompProfile, allowPrivilegeEscalation, capabilities } = {
          ...spec.securityContext,
          ...container?.securityContext,
        }
        expect({ runAsNonRoot, seccompProfile, allowPrivilegeEscalation, capabilities }, name).toEqual({
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        })
        expect(runAsUser, name).not.toBe(0)
      }
    }
  })

  it('has selectors that match pods', () => {
    const labels = of('Deployment').map(({ spec }) => spec.template.metadata.labels)
    const selectors = [
      ...of('Service').map(({ spec }) => spec.selector),
      ...of('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...of('Deployment').map(({ spec }) => spec.selector.matchLabels),
    ]
    expect(selectors.length).toBeGreaterThan(8)
    for (const selector of selectors) expect(labels).toContainEqual(expect.objectContaining(selector))
  })

  it('connects each ingress to a port of a service, and that to a port of its pods', () => {
    for (const { spec } of of('Ingress')) {
      expect(spec.tls.flatMap(({ hosts }: Document) => hosts)).toEqual(
        spec.rules.map(({ host }: Document) => host),
      )
      for (const { backend } of spec.rules.flatMap(({ http }: Document) => http.paths)) {
        const service = of('Service').find(({ metadata }) => metadata.name === backend.service.name)
        const port = service.spec.ports.find(({ name }: Document) => name === backend.service.port.name)
        const deployment = of('Deployment').find(({ metadata }) => metadata.name === backend.service.name)
        expect(containerOf(deployment).ports.map(({ name }: Document) => name)).toContain(port.targetPort)
      }
    }
  })

  it('exposes all paths of the services, but no metrics', () => {
    for (const { spec, metadata } of of('Ingress').filter(({ metadata }) => metadata.name !== 'metrics'))
      expect(spec.rules[0].http.paths, metadata.name).toMatchObject([{ path: '/', pathType: 'Prefix' }])
    const denied = of('Ingress').find(({ metadata }) => metadata.name === 'metrics')
    expect(denied.metadata.annotations).toEqual({
      'nginx.ingress.kubernetes.io/denylist-source-range': '0.0.0.0/0,::/0',
    })
    const servers = of('Ingress').filter(({ metadata }) => ['explorer', 'docs'].includes(metadata.name))
    expect(denied.spec.rules.map(({ host }: Document) => host)).toEqual(
      servers.map(({ spec }) => spec.rules[0].host),
    )
    for (const { http } of denied.spec.rules) expect(http.paths).toMatchObject([{ path: '/metrics' }])
  })

  it('accepts every body that the explorer accepts', () => {
    const explorer = of('Ingress').find(({ metadata }) => metadata.name === 'explorer')
    const size = explorer.metadata.annotations['nginx.ingress.kubernetes.io/proxy-body-size']
    expect(size).toBe(String(MAX_BODY))
  })

  it('has the settings of the proxy for errors of the controller', () => {
    const [{ data }] = documents(`${FOLDER}/ingress-nginx.example`)
    const directives = (text: string): string => text.replace(/#.*$/gm, '').replace(/\s+/g, ' ').trim()
    const conf = directives(readFileSync('deploy/proxy/nginx.conf', 'utf8'))
    expect(conf).toContain(directives(data['http-snippet']))
    expect(directives(data['server-snippet'])).toBe(
      directives(readFileSync('deploy/proxy/failures.conf', 'utf8')),
    )
  })

  it('keeps a pod of every replicated process running during a disruption', () => {
    const guarded = of('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels.app)
    const several = of('Deployment').filter(({ spec }) => spec.replicas > 1)
    expect(several.map(({ metadata }) => metadata.name).sort()).toEqual(guarded.sort())
  })

  it('has one partition per topic, with the retention that the log declares', () => {
    const topics = new Map(of('KafkaTopic').map(({ spec }) => [spec.topicName, spec]))
    expect([...topics.keys()].sort()).toEqual([
      'headwater.chain',
      'headwater.committed',
      'headwater.dead-letters',
      'headwater.node',
    ])
    for (const { partitions, replicas, config } of topics.values()) {
      expect({ partitions, replicas }).toEqual({ partitions: 1, replicas: 3 })
      expect(config).toMatchObject({ 'cleanup.policy': 'delete', 'min.insync.replicas': 2 })
      expect(config['max.message.bytes']).toBeGreaterThanOrEqual(64 << 20)
    }
    for (const [topic, kept] of Object.entries(RETENTION_MS)) {
      const { config } = topics.get(`headwater.${topic}`)
      expect(config['retention.ms'], topic).toBe(Number.isFinite(kept) ? kept : -1)
      expect(config['retention.bytes'], topic).toBe(-1)
    }
  })

  it('gives each process valid settings', () => {
    for (const { container } of containers)
      expect(faultsOf(environmentOf(container)), container.name).toEqual([])
  })
})

/** Returns the pods of the namespace, including those that the operators make from the templates of their resources. */
function podsOf(): { name: string; spec: Document; containers: Document[] }[] {
  const made = [
    ...of('Deployment').map(({ metadata, spec }) => [`Deployment ${metadata.name}`, spec.template.spec]),
    ...['ClickHouseKeeperInstallation', 'ClickHouseInstallation'].flatMap((kind) =>
      of(kind).flatMap(({ spec }) =>
        spec.templates.podTemplates.map((each: Document) => [each.name, each.spec]),
      ),
    ),
  ].map(([name, spec]) => ({ name, spec, containers: [...(spec.initContainers ?? []), ...spec.containers] }))
  const { kafka, entityOperator } = of('Kafka')[0].spec
  // The template of a node pool replaces that of the cluster, part by part.
  const strimzi = [
    ...of('KafkaNodePool').map(({ metadata, spec }) => [
      metadata.name,
      { ...kafka.template, ...spec.template },
      ['kafkaContainer', 'initContainer'],
    ]),
    ['entity operator', { ...entityOperator.template }, ['topicOperatorContainer', 'userOperatorContainer']],
  ].map(([name, template, parts]) => ({
    name,
    spec: template.pod ?? {},
    containers: parts.map((part: string) => template[part]),
  }))
  return [...made, ...strimzi]
}

/** Returns the variables of a container; secrets have the values of secrets.example. */
function environmentOf(container: Document): Record<string, string> {
  const secrets = documents(`${FOLDER}/secrets.example`).find(({ metadata }) => metadata.name === 'headwater')
  const configs = container.envFrom.flatMap(({ configMapRef }: Document) => {
    if (configMapRef === undefined) return []
    const found = of('ConfigMap').find(({ metadata }) => metadata.name === configMapRef.name)
    expect(found, configMapRef.name).toBeDefined()
    return [found.data as Record<string, string>]
  })
  const single = (container.env ?? []).map(({ name, value, valueFrom }: Document) => {
    if (value !== undefined) return [name, value]
    const { name: secret, key } = valueFrom.secretKeyRef
    if (secret === 'headwater') expect(secrets.stringData, key).toHaveProperty(key)
    return [name, secret === 'headwater' ? secrets.stringData[key] : 'x']
  })
  return Object.assign({}, ...configs, Object.fromEntries(single))
}
