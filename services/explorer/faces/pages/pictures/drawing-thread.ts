/** The thread that draws pictures, which takes about 40 ms each. */
import { answerJobs } from '../../../../../pipelines/worker-thread.js'
import { drawn } from './drawing.js'

answerJobs(drawn)
