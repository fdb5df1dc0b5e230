import { KAFKA_LIBRARIES } from './kafka.js'
import { kafkaLibraries, NoKafka } from '../../services/kafka/libraries.js'

/**
 * The reason why Kafka is not available here: no Java, no Maven, or no access to the packages. Undefined if it is
 * available.
 */
export const WITHOUT_KAFKA = await kafkaLibraries(KAFKA_LIBRARIES).then(
  () => undefined,
  (error: unknown) => {
    if (error instanceof NoKafka) return error.message
    throw error
  },
)

if (WITHOUT_KAFKA !== undefined) console.warn(`SKIPPED: tests with Kafka: ${WITHOUT_KAFKA}`)
