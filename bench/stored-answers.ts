import type { StoredAnswer } from './bare-server.js'

/** Returns answers with their headers, as a server sends them now, without compression. */
export async function storedAnswers(
  url: string,
  paths: readonly string[],
  accept = '*/*',
): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>()
  for (const path of paths) {
    const answer = await fetch(new URL(path, url), { headers: { accept, 'accept-encoding': 'identity' } })
    if (!answer.ok) throw new Error(`${path}: HTTP ${String(answer.status)}`)
    const headers = [...answer.headers].filter(
      ([name]) => !/^(date|content-length|connection|uwebsockets)/.test(name),
    )
    stored.set(path, { headers, body: Buffer.from(await answer.arrayBuffer()) })
  }
  return stored
}
