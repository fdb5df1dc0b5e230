/** The thread in which the files of the content are parsed. */
import { answerJobs } from '../worker-thread.js'
import { parseDocument } from './document.js'

/** A file's text, and the file. */
export type DocumentJob = readonly [source: string, file: string]

answerJobs((job: DocumentJob) => parseDocument(...job))
