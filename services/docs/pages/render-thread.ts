/** The thread that renders pages as HTML. */
import { answerJobs } from '../../../pipelines/worker-thread.js'
import { renderMarkdown, type Rendered } from './render.js'

answerJobs((page: Rendered) => renderMarkdown(page).text)
