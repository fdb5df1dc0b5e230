import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { ASSETS, loadAssets } from '../../services/explorer/pages/assets.js'
import { pagesOf } from '../../services/explorer/pages/index.js'
import { LANGUAGES } from '../../services/explorer/pages/language.js'

interface Ingress {
  readonly spec: {
    readonly rules: readonly {
      readonly host: string
      readonly http: { readonly paths: readonly { readonly path: string }[] }
    }[]
  }
}

describe('the ingress of the explorer', () => {
  it('exposes every page and its files, and no metrics', () => {
    const file = readFileSync(new URL('../../deploy/kubernetes/40-ingress.yaml', import.meta.url), 'utf8')
    const ingresses = parseAllDocuments(file).map((each) => each.toJS() as Ingress)
    const paths = ingresses
      .flatMap(({ spec }) => spec.rules)
      .filter(({ host }) => host === 'explorer.example')
      .flatMap(({ http }) => http.paths.map(({ path }) => path))
    const none = () => {
      throw new Error('not needed')
    }
    const status = { health: none, lags: none }
    const { documents, texts } = pagesOf({ assets: loadAssets(), status, openApi: none })
    const first = (path: string): string => `/${path.split('/')[1] ?? ''}`
    const languages = LANGUAGES.slice(1).map((language) => `/${language}`)
    for (const path of [...documents, ...texts]
      .map(({ path }) => first(path))
      .concat(first(ASSETS), languages))
      expect(paths).toContain(path)
    expect(paths).not.toContain('/metrics')
  })
})
