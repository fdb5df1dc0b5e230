/** The thread of the deriver. Only it loads the libraries of keys and descriptors. */
import { answerJobs } from '../../../../pipelines/worker-thread.js'
import { derive } from './derivation.js'

answerJobs(derive)
