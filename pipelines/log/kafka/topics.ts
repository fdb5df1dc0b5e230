import { setTimeout as sleep } from 'node:timers/promises'
import { coded } from '../../errors.js'
import { type Admin, ConfigResourceTypes } from './client.js'
import { RETENTION_MS, type Topic, TOPICS } from '../port.js'

/**
 * The maximum size of a batch of events: a block of the largest size (8 MB) with the outputs that its inputs spend, and the
 * other blocks of the batch. It is a setting of the topic, which overrides the broker's limit of 1 MB, so a broker with default
 * settings accepts it. content/decisions/0013 explains why blocks are not split.
 */
export const MAX_BATCH_BYTES = 64 << 20
/** The maximum time span of a segment: Kafka deletes whole segments only, and never the segment that is being written. */
const SEGMENT_MS = 3_600_000
const MAX_REPLICAS = 3
/** The maximum wait for new topics to appear on a broker, and the interval between checks: an overloaded cluster takes long. */
const CREATE_MS = 60_000
const RETRY_MS = 100
/** The time after which the driver ends a request to create topics; the broker continues to create them. */
const ATTEMPT_MS = 30_000
/** Types of errors while topics are being created. */
const BEING_CREATED: ReadonlySet<unknown> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'REQUEST_TIMED_OUT',
])

/** Thrown for topics that cannot contain the log; the message names the setting to change. */
class WrongTopic extends coded('HW_TOPIC_INVALID') {}

/**
 * Creates missing topics, with one partition to keep the order of events, and with three replicas if there are as many brokers,
 * two of which must have an event before it counts as written. Resolves when the broker that the driver uses knows the topics: it
 * may be the last to learn what the controller has created, and the driver does not retry.
 * @throws WrongTopic for an existing topic that cannot contain the log.
 */
export async function ensureTopics(admin: Admin, nameOf: (topic: Topic) => string): Promise<void> {
  const end = performance.now() + CREATE_MS
  for (;;) {
    try {
      await createMissing(admin, nameOf)
      return await refuseWrong(admin, nameOf)
    } catch (error) {
      if (!areBeingCreated(error) || performance.now() > end) throw error
      await sleep(RETRY_MS)
    }
  }
}

/** Returns whether an error only means that topics are being created. For several topics the driver nests an error for each. */
function areBeingCreated(error: unknown): boolean {
  const { errors = [error] } = error as { readonly errors?: readonly unknown[] }
  return errors.every((each) => BEING_CREATED.has((each as { readonly type?: unknown }).type))
}

async function createMissing(admin: Admin, nameOf: (topic: Topic) => string): Promise<void> {
  const there = new Set(await admin.listTopics())
  const missing = TOPICS.filter((topic) => !there.has(nameOf(topic)))
  if (missing.length === 0) return
  const { brokers } = await admin.describeCluster()
  const replicationFactor = Math.min(brokers.length, MAX_REPLICAS)
  await admin.createTopics({
    timeout: ATTEMPT_MS,
    waitForLeaders: true,
    topics: missing.map((topic) => ({
      topic: nameOf(topic),
      numPartitions: 1,
      replicationFactor,
      configEntries: Object.entries(settingsOf(topic, replicationFactor)).map(([name, value]) => ({
        name,
        value,
      })),
    })),
  })
}

function settingsOf(topic: Topic, replicas: number): Record<string, string> {
  const retention = RETENTION_MS[topic]
  return {
    'cleanup.policy': 'delete',
    'retention.ms': Number.isFinite(retention) ? String(retention) : '-1',
    'retention.bytes': '-1',
    'max.message.bytes': String(MAX_BATCH_BYTES),
    // Stored as the producer compressed it.
    'compression.type': 'producer',
    'min.insync.replicas': replicas < MAX_REPLICAS ? '1' : '2',
    // A replica that lags must not become the leader: it lacks acknowledged events.
    'unclean.leader.election.enable': 'false',
    ...(Number.isFinite(retention) ? { 'segment.ms': String(Math.min(retention, SEGMENT_MS)) } : {}),
  }
}

async function refuseWrong(admin: Admin, nameOf: (topic: Topic) => string): Promise<void> {
  const names = TOPICS.map(nameOf)
  const { topics } = await admin.fetchTopicMetadata({ topics: names })
  for (const { name, partitions } of topics)
    if (partitions.length !== 1)
      throw new WrongTopic(
        `topic ${name} has ${String(partitions.length)} partitions; it must have 1 to keep the order of events`,
      )
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({ type: ConfigResourceTypes.TOPIC, name })),
  })
  const retentions = new Map(TOPICS.map((topic) => [nameOf(topic), RETENTION_MS[topic]]))
  for (const { resourceName, configEntries } of resources) {
    const settings = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))
    const refuse = (name: string, requirement: string): never => {
      throw new WrongTopic(
        `topic ${resourceName} has ${name}=${settings.get(name) ?? '?'}; set it to ${requirement}`,
      )
    }
    if (settings.get('cleanup.policy') !== 'delete') refuse('cleanup.policy', 'delete')
    if (!(Number(settings.get('max.message.bytes')) >= MAX_BATCH_BYTES))
      refuse('max.message.bytes', `${String(MAX_BATCH_BYTES)} or more (a batch of events is one)`)
    const [keeps, least] = [Number(settings.get('retention.ms')), retentions.get(resourceName) ?? 0]
    if (Number.isFinite(least)) {
      if (keeps !== -1 && !(keeps >= least)) refuse('retention.ms', `${String(least)} or more`)
      continue
    }
    if (keeps !== -1) refuse('retention.ms', '-1 (its events are retained indefinitely)')
    if (settings.get('retention.bytes') !== '-1')
      refuse('retention.bytes', '-1 (its events are retained indefinitely)')
  }
}
