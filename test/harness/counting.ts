import type { Database } from '../../pipelines/tables/clickhouse.js'
import { useEngine } from './engine.js'

/** A client of the shared engine that sums up the rows that the engine read. */
export class Counting {
  rows = 0
  constructor(private readonly db: Database) {}

  async query<T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> {
    const url = new URL(useEngine())
    const named = Object.entries(params).map(([name, value]) => [`param_${name}`, String(value)])
    const settings = {
      database: this.db.name,
      wait_end_of_query: '1',
      default_format: 'JSONEachRow',
      output_format_json_quote_64bit_integers: '1',
    }
    url.search = String(new URLSearchParams([...Object.entries(settings), ...named] as [string, string][]))
    const answer = await fetch(url, { method: 'POST', body: sql })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    const summary = JSON.parse(answer.headers.get('x-clickhouse-summary') ?? '{}') as { read_rows: string }
    this.rows += Number(summary.read_rows)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T)
  }
}
