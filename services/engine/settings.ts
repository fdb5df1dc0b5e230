import { totalmem } from 'node:os'
import { RUN_MACRO } from '../../pipelines/tables/lost-writes.js'

const MIB = 1024 * 1024

/** Half of the machine at most: the other processes live here too. */
const MOST_MEMORY = 3 * 1024 * MIB

/** Room that no insert and no merge may take: it is for what is being written when another program fills the disk. */
const KEPT_FREE = 64 * MIB

/**
 * What the engine is told beside its ports: caches and pools for one machine that it shares with all other processes.
 * The merge tree's figures belong to the pool's size: as they come (8, 20, 25 free entries) a pool of 4 would never mutate.
 * @param run tells this start of the engine from all others.
 */
export function engineSettings(
  run: string,
  memoryBytes = Math.min(MOST_MEMORY, Math.floor(totalmem() / 2)),
  { macros, ...more }: Settings & { readonly macros?: Settings } = {},
): string {
  const settings = {
    ...more,
    macros: { [RUN_MACRO]: run, ...macros },
    storage_configuration: { disks: { default: { keep_free_space_bytes: KEPT_FREE } } },
    max_server_memory_usage: memoryBytes,
    mark_cache_size: 128 * MIB,
    primary_index_cache_size: 128 * MIB,
    query_condition_cache_size: 16 * MIB,
    compiled_expression_cache_size: 32 * MIB,
    mmap_cache_size: 100,
    max_connections: 1024,
    keep_alive_timeout: 30,
    background_pool_size: 2,
    background_merges_mutations_concurrency_ratio: 2,
    background_common_pool_size: 2,
    background_move_pool_size: 1,
    background_fetches_pool_size: 1,
    background_schedule_pool_size: 8,
    background_buffer_flush_schedule_pool_size: 1,
    background_message_broker_schedule_pool_size: 1,
    background_distributed_schedule_pool_size: 1,
    merge_tree: {
      number_of_free_entries_in_pool_to_lower_max_size_of_merge: 2,
      number_of_free_entries_in_pool_to_execute_mutation: 1,
      number_of_free_entries_in_pool_to_execute_optimize_entire_partition: 1,
    },
  }
  return `<clickhouse>\n${elements(settings)}\n</clickhouse>\n`
}

export interface Settings {
  readonly [name: string]: number | string | Settings
}

function elements(settings: Settings): string {
  return Object.entries(settings)
    .map(
      ([name, value]) => `<${name}>${typeof value === 'object' ? elements(value) : String(value)}</${name}>`,
    )
    .join('\n')
}
