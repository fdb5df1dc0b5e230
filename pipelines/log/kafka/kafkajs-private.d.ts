/** Those parts of kafkajs 2.2.4 (pinned) that this project uses and that its own types leave out. */
declare module 'kafkajs/src/cluster/index.js' {
  interface FetchedMessage {
    readonly offset: string
    readonly timestamp: string
    readonly value: Buffer | null
    readonly isControlRecord?: boolean
  }

  interface Broker {
    /** @throws KafkaJSError with the broker's code as its `type`. */
    fetch(request: {
      readonly maxWaitTime: number
      readonly minBytes: number
      readonly maxBytes: number
      readonly isolationLevel: number
      readonly topics: readonly {
        readonly topic: string
        readonly partitions: readonly {
          readonly partition: number
          readonly fetchOffset: string
          readonly maxBytes: number
        }[]
      }[]
    }): Promise<{
      readonly responses: readonly {
        readonly partitions: readonly {
          readonly highWatermark: string
          readonly messages: readonly FetchedMessage[]
        }[]
      }[]
    }>
  }

  export default class Cluster {
    constructor(options: Record<string, unknown>)
    connect(): Promise<void>
    disconnect(): Promise<void>
    addTargetTopic(topic: string): Promise<void>
    refreshMetadata(): Promise<void>
    refreshMetadataIfNecessary(): Promise<void>
    findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>
    findBroker(options: { readonly nodeId: string }): Promise<Broker>
    fetchTopicsOffset(
      topics: readonly {
        readonly topic: string
        readonly partitions: readonly { readonly partition: number }[]
        readonly fromBeginning: boolean
      }[],
    ): Promise<readonly { readonly partitions: readonly { readonly offset: string }[] }[]>
  }
}

declare module 'kafkajs/src/network/socketFactory.js' {
  export default function defaultSocketFactory(): unknown
}
