import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Embedder } from '../../pipelines/retrieval/model/embedder.js'
import { modelIn } from '../../pipelines/retrieval/model/files.js'
import { modelFolder } from '../harness/model.js'
import { judgedAnswers } from '../retrieval/answers.js'
import { answerFigures, askJudged } from '../retrieval/outcomes.js'

const MODEL = await modelFolder()

/** Part of `check:long`. Skipped with a message if the model is not available. */
describe.skipIf(MODEL === undefined || process.env['JUDGED_ANSWERS'] !== '1')(
  'answers without a language model',
  () => {
    let embedder: Embedder

    beforeAll(async () => {
      embedder = await Embedder.start(await modelIn(MODEL!))
    })

    afterAll(() => embedder.close())

    it('quote the section that answers, and decline what no page answers', async () => {
      // The other site, with ten times as many pages, is asked by `npm run bench -- retrieval`.
      const outcomes = [...(await askJudged(judgedAnswers(), embedder, ['own'])).values()]
      const wrong = outcomes.filter(({ kind, isRight, isAnswered }) =>
        kind === 'answerable' ? !isRight : isAnswered,
      )
      const figures = Object.fromEntries(
        answerFigures('answers', outcomes).map(({ name, value }) => [name, value]),
      )
      const report = JSON.stringify({ figures, wrong }, null, 1)
      // The figures measured (decision 30), less two questions each.
      expect(figures['answers_recall'], report).toBeGreaterThanOrEqual(15 / 20)
      expect(figures['answers_declined_unanswerable'], report).toBeGreaterThanOrEqual(9 / 14)
      expect(figures['answers_declined_off_topic'], report).toBeGreaterThanOrEqual(14 / 17)
    })
  },
)
