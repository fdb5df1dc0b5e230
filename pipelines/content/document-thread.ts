/** The thread that parses the files of the content. */
import { answerJobs } from '../worker-thread.js'
import { parseDocument } from './document.js'
import type { Included } from './page.js'

/** The text of a file, its path relative to the content folder, and the files that it includes. */
export type DocumentJob = readonly [source: string, file: string, included: readonly Included[]]

answerJobs((job: DocumentJob) => parseDocument(...job))
