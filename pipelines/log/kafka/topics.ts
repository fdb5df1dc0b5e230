import { setTimeout as sleep } from 'node:timers/promises'
import { coded } from '../../errors.js'
import { type Admin, ConfigResourceTypes } from './client.js'
import { RETENTION_MS, type Topic, TOPICS } from '../port.js'

/**
 * The longest batch of events: a block of the largest size (8 MB), what its inputs spend, and the blocks that go with it. It
 * is a setting of the topic and overrides the broker's 1 MB, so a broker with its defaults takes it, whole: see
 * content/decisions/0013 on why blocks are not cut into pieces.
 */
export const MAX_BATCH_BYTES = 64 << 20
/** Kafka deletes whole segments, and none that is still written to. */
const SEGMENT_MS = 3_600_000
const MOST_REPLICAS = 3
/** How long new topics are looked for on a broker, and how long between: a starved cluster takes this long. */
const MAKING_MS = 60_000
const LOOK_AGAIN_MS = 100
/** The time that the driver gives a broker to make topics, which it goes on to do after it. */
const ATTEMPT_MS = 30_000
/** Types of errors that say that topics are being made. */
const BEING_MADE: ReadonlySet<unknown> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'REQUEST_TIMED_OUT',
])

/** The topics of the broker cannot carry the log; the message says which setting to change. */
class WrongTopic extends coded('HW_TOPIC_INVALID') {}

/**
 * Makes the topics that are missing: one partition each, for order is the point of the log; three replicas where there are
 * as many brokers, of which two must have an event before it counts as written. Resolves when the broker that is asked knows
 * them: it may be the last to hear of what the controller has made, and the driver does not ask again.
 * @throws WrongTopic for one that is there, and is none that the log can be on.
 */
export async function ensureTopics(admin: Admin, nameOf: (topic: Topic) => string): Promise<void> {
  const end = performance.now() + MAKING_MS
  for (;;) {
    try {
      await makeMissing(admin, nameOf)
      return await refuseWrong(admin, nameOf)
    } catch (error) {
      if (!areBeingMade(error) || performance.now() > end) throw error
      await sleep(LOOK_AGAIN_MS)
    }
  }
}

/** The driver has one error for several topics, with one for each of them. */
function areBeingMade(error: unknown): boolean {
  const { errors = [error] } = error as { readonly errors?: readonly unknown[] }
  return errors.every((each) => BEING_MADE.has((each as { readonly type?: unknown }).type))
}

async function makeMissing(admin: Admin, nameOf: (topic: Topic) => string): Promise<void> {
  const there = new Set(await admin.listTopics())
  const missing = TOPICS.filter((topic) => !there.has(nameOf(topic)))
  if (missing.length === 0) return
  const { brokers } = await admin.describeCluster()
  const replicationFactor = Math.min(brokers.length, MOST_REPLICAS)
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
  const kept = RETENTION_MS[topic]
  return {
    'cleanup.policy': 'delete',
    'retention.ms': Number.isFinite(kept) ? String(kept) : '-1',
    'retention.bytes': '-1',
    'max.message.bytes': String(MAX_BATCH_BYTES),
    // As the producer sends it.
    'compression.type': 'producer',
    'min.insync.replicas': replicas < MOST_REPLICAS ? '1' : '2',
    // A replica that lags must not become the log: what it lacks was acknowledged.
    'unclean.leader.election.enable': 'false',
    ...(Number.isFinite(kept) ? { 'segment.ms': String(Math.min(kept, SEGMENT_MS)) } : {}),
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
  const kept = new Map(TOPICS.map((topic) => [nameOf(topic), RETENTION_MS[topic]]))
  for (const { resourceName, configEntries } of resources) {
    const settings = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))
    const refuse = (name: string, wanted: string): never => {
      throw new WrongTopic(
        `topic ${resourceName} has ${name}=${settings.get(name) ?? '?'}; set it to ${wanted}`,
      )
    }
    if (settings.get('cleanup.policy') !== 'delete') refuse('cleanup.policy', 'delete')
    if (!(Number(settings.get('max.message.bytes')) >= MAX_BATCH_BYTES))
      refuse('max.message.bytes', `${String(MAX_BATCH_BYTES)} or more (a batch of events is one)`)
    const [keeps, least] = [Number(settings.get('retention.ms')), kept.get(resourceName) ?? 0]
    if (Number.isFinite(least)) {
      if (keeps !== -1 && !(keeps >= least)) refuse('retention.ms', `${String(least)} or more`)
      continue
    }
    if (keeps !== -1) refuse('retention.ms', '-1 (its events are retained indefinitely)')
    if (settings.get('retention.bytes') !== '-1')
      refuse('retention.bytes', '-1 (its events are retained indefinitely)')
  }
}
