import type { LogSettings } from '../../process/event-log.js'

/** The transaction store of a machine, and the log that it is written from. */
export interface TxStoreSettings {
  /** The file of the store. */
  readonly path: string
  /** The size above which it drops its oldest blocks. */
  readonly maxBytes: number
  /** The log that it is written from, as the thread opens it. */
  readonly settings: LogSettings & { readonly logLevel: string }
}

/** The data that the thread is started with. */
export type TxStoreThreadData = Pick<TxStoreSettings, 'path' | 'settings'>

/** A job of the thread: to write the next records of the log. */
export interface TxStoreJob {
  /** The name of the network. */
  readonly chain: string
  /** The size above which the store drops its oldest blocks. */
  readonly maxBytes: number
}

export interface TxStoreProgress {
  /** True if the store has all records of the log. */
  readonly isLevel: boolean
}
