import { describe, expect, it } from 'vitest'
import type { Admin } from '../../../../pipelines/log/kafka/client.js'
import { ensureTopics } from '../../../../pipelines/log/kafka/topics.js'
import { TOPICS } from '../../../../pipelines/log/port.js'

/** Brokers that report all topics, with the required settings, only after this number of unsuccessful requests. */
function brokers(failures: number, type: string): { admin: Admin; looks: () => number } {
  let looks = 0
  const settings = {
    'cleanup.policy': 'delete',
    'max.message.bytes': String(2 ** 30),
    'retention.ms': '-1',
    'retention.bytes': '-1',
  }
  const configEntries = Object.entries(settings).map(([configName, configValue]) => ({
    configName,
    configValue,
  }))
  const admin = {
    listTopics: () => Promise.resolve([...TOPICS]),
    fetchTopicMetadata: ({ topics }: { topics: string[] }) => {
      if (looks++ < failures) return Promise.reject(Object.assign(new Error('not there'), { type }))
      return Promise.resolve({ topics: topics.map((name) => ({ name, partitions: [{}] })) })
    },
    describeConfigs: ({ resources }: { resources: { name: string }[] }) =>
      Promise.resolve({ resources: resources.map(({ name }) => ({ resourceName: name, configEntries })) }),
  }
  return { admin: admin as unknown as Admin, looks: () => looks }
}

describe('topics that were created a moment ago', () => {
  it('are requested again from a broker that does not know them yet', async () => {
    const { admin, looks } = brokers(3, 'UNKNOWN_TOPIC_OR_PARTITION')
    await ensureTopics(admin, (topic) => topic)
    expect(looks()).toBe(4)
  })

  it('are awaited if a starved broker reports that their creation takes long', async () => {
    const { admin } = brokers(0, '')
    const made: number[] = []
    const errors = TOPICS.map(() => Object.assign(new Error('slow'), { type: 'REQUEST_TIMED_OUT' }))
    Object.assign(admin, {
      listTopics: () => Promise.resolve(made.length < 2 ? [] : [...TOPICS]),
      describeCluster: () => Promise.resolve({ brokers: [{}] }),
      createTopics: ({ topics }: { topics: unknown[] }) => {
        made.push(topics.length)
        return Promise.reject(Object.assign(new Error('slow'), { errors }))
      },
    })
    await ensureTopics(admin, (topic) => topic)
    expect(made).toEqual([TOPICS.length, TOPICS.length])
  })

  it('are not requested again after any other error', async () => {
    const { admin, looks } = brokers(1, 'TOPIC_AUTHORIZATION_FAILED')
    await expect(ensureTopics(admin, (topic) => topic)).rejects.toThrow('not there')
    expect(looks()).toBe(1)
  })
})
