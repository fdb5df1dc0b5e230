import { KAFKA_LIBRARIES } from './kafka.js'
import { kafkaLibraries, NoKafka } from '../../services/kafka/libraries.js'

/** Why there can be no Kafka here: no Java, no Maven, or nothing to fetch from. Undefined where it is at hand. */
export const WITHOUT_KAFKA = await kafkaLibraries(KAFKA_LIBRARIES).then(
  () => undefined,
  (error: unknown) => {
    if (error instanceof NoKafka) return error.message
    throw error
  },
)

if (WITHOUT_KAFKA !== undefined) console.warn(`SKIPPED: everything that needs Kafka: ${WITHOUT_KAFKA}`)
