import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery, printSchema } from 'graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { networkNamed } from '../../../../pipelines/chain/networks.js'
import { READS } from '../../../../services/explorer/core/reads/index.js'
import { NO_CHAIN, State } from '../../../../services/explorer/core/state/state.js'
import { type BareServer, startBare } from '../bare-server.js'

const NAMES = ['is_dilithium', 'isDilithium', 'dilithiumStats', 'dilithiumHistory', '/stats/dilithium']

describe('the descriptions of the API', () => {
  let bare: BareServer
  afterEach(() => {
    bare.close()
  })

  async function textsOf(state: State): Promise<Record<'openapi' | 'asyncapi' | 'graphql', string>> {
    state.mempoolLoaded()
    bare = await startBare({ state, reads: READS })
    return described(bare.url)
  }

  it('name what only Dilithium signatures have on their chain', async () => {
    const state = new State()
    state.adopt({ ...NO_CHAIN, network: networkNamed('btq-main') })
    const { openapi, asyncapi, graphql } = await textsOf(state)
    for (const name of NAMES) expect(openapi).toContain(name)
    expect(asyncapi).toContain('is_dilithium')
    for (const name of NAMES.slice(0, 4)) expect(graphql).toContain(name)
  })

  it('say nothing of Dilithium signatures for Bitcoin', async () => {
    const state = new State()
    state.adopt({ ...NO_CHAIN, network: networkNamed('bitcoin-main') })
    const texts = await textsOf(state)
    for (const text of Object.values(texts)) expect(text.match(/.{0,80}dilithium.{0,80}/gi) ?? []).toEqual([])
    // The answers keep the fields, which are false or zero.
    const response = await fetch(`${bare.url}/api/v1/stats/dilithium`)
    expect(await response.json()).toMatchObject({ dilithiumTransactions: 0, dilithiumAddresses: 0 })
  })

  it('change when the chain becomes known after the start', async () => {
    const state = new State()
    state.adopt(NO_CHAIN)
    expect((await textsOf(state)).graphql).toContain('is_dilithium')
    state.adopt({ ...NO_CHAIN, network: networkNamed('bitcoin-regtest') })
    const later = await described(bare.url)
    expect(later.graphql).not.toContain('is_dilithium')
    expect(later.openapi).not.toContain('is_dilithium')
  })
})

async function described(url: string): Promise<Record<'openapi' | 'asyncapi' | 'graphql', string>> {
  const text = async (path: string): Promise<string> => (await fetch(url + path)).text()
  const introspected = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: getIntrospectionQuery() }),
  })
  const { data } = (await introspected.json()) as { data: IntrospectionQuery }
  return {
    openapi: await text('/openapi.json'),
    asyncapi: await text('/asyncapi.json'),
    graphql: printSchema(buildClientSchema(data)),
  }
}
