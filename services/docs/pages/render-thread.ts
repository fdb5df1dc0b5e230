/** The thread in which pages become HTML. */
import { answerJobs } from '../../../pipelines/worker-thread.js'
import { renderMarkdown, type Rendered } from './render.js'

answerJobs((page: Rendered) => renderMarkdown(page).text)
