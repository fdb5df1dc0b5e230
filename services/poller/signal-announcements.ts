import { once } from 'node:events'
import type { Alarm, AnnouncementSource } from '../../pipelines/poll/announce/alarm.js'

/** Learns that the node has changed by a signal, which the node's `blocknotify` or a test suite sends. */
export class SignalAnnouncements implements AnnouncementSource {
  async run(alarm: Alarm, signal: AbortSignal): Promise<void> {
    const announce = (): void => {
      alarm.block()
    }
    // Without a listener, Node starts a debugger.
    process.on('SIGUSR1', announce)
    try {
      if (!signal.aborted) await once(signal, 'abort')
    } finally {
      process.off('SIGUSR1', announce)
    }
  }
}
