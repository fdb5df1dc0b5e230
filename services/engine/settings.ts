import { totalmem } from 'node:os'
import { RUN_MACRO } from '../../pipelines/tables/lost-writes.js'

const MIB = 1024 * 1024

/** The maximum memory of the server, in bytes. */
const MAX_MEMORY = 3 * 1024 * MIB

/** Disk space that inserts and merges leave free, in bytes: for writes in progress when another program fills the disk. */
const KEPT_FREE = 64 * MIB

/** The nice value of merges, if the process may set it: a tenth of the processor time of others while these need all of it. */
const MERGES_NICE = 10

/**
 * Returns the configuration file of the engine: small caches and thread pools, because it shares the machine with all other
 * processes. The numbers of free entries of the merge tree fit the size of the pool: with their defaults (8, 20, 25) a pool of 4
 * would never mutate.
 * @param run identifies this start of the engine.
 * @param memoryBytes half of the machine's memory by default, because other processes share the machine.
 */
export function engineSettings(
  run: string,
  memoryBytes = Math.min(MAX_MEMORY, Math.floor(totalmem() / 2)),
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
    // Merges begin with the inserts of a block: without this they take the processors from publishing it.
    os_threads_nice_value_merge_mutate: MERGES_NICE,
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
      // By default a merge leaves out the parts at its end that are smaller than a hundredth of the sum, down to two parts: in a small
      // table these are the largest part and the rows of one block, so that each block rewrites the table.
      merge_selector_enable_heuristic_to_remove_small_parts_at_right: 0,
      number_of_free_entries_in_pool_to_lower_max_size_of_merge: 2,
      number_of_free_entries_in_pool_to_execute_mutation: 1,
      number_of_free_entries_in_pool_to_execute_optimize_entire_partition: 1,
    },
  }
  return `<clickhouse>\n${elements(settings)}\n</clickhouse>\n`
}

export interface Settings {
  /** An element, or several elements with one name. */
  readonly [name: string]: Setting | readonly Setting[]
}

type Setting = number | string | Settings

function elements(settings: Settings): string {
  return Object.entries(settings)
    .flatMap(([name, value]) => (isList(value) ? value : [value]).map((each) => element(name, each)))
    .join('\n')
}

const isList = (value: Setting | readonly Setting[]): value is readonly Setting[] => Array.isArray(value)

const element = (name: string, value: Setting): string =>
  `<${name}>${typeof value === 'object' ? elements(value) : String(value)}</${name}>`
