export const RESPONSE_TYPE = 'application/graphql-response+json'

interface GraphqlError {
  readonly message: string
  readonly extensions: Readonly<Record<string, unknown>>
}

export interface GraphqlAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read answers as a client would
  readonly data: any
  readonly errors: readonly GraphqlError[]
}

/** Sends an operation to an explorer. */
export async function send(
  url: string,
  operation: { readonly query: string; readonly variables?: Readonly<Record<string, unknown>> },
  headers: Readonly<Record<string, string>> = {},
): Promise<GraphqlAnswer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(operation),
  })
  const body = (await response.json()) as { data?: unknown; errors?: readonly GraphqlError[] }
  const { data, errors = [] } = body
  return { status: response.status, headers: response.headers, body, data, errors }
}
