/** The thread in which pages become HTML. */
import { answerJobs } from '../../../pipelines/content/bounded.js'
import { renderMarkdown, type Rendered } from './render.js'

answerJobs((page: Rendered): string => renderMarkdown(page).text)
