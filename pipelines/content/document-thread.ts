/** The thread in which the files of the content are parsed. */
import { answerJobs } from './bounded.js'
import { parseDocument } from './document.js'
import type { Draft } from './page.js'

/** A file's text, and the file. */
export type DocumentJob = readonly [source: string, file: string]

answerJobs((job: DocumentJob): Draft => parseDocument(...job))
