/** The thread that parses the files of the content. */
import { answerJobs } from '../worker-thread.js'
import { parseDocument } from './document.js'

/** The text of a file, and its path relative to the content folder. */
export type DocumentJob = readonly [source: string, file: string]

answerJobs((job: DocumentJob) => parseDocument(...job))
