import type { MessageInitShape } from '@bufbuild/protobuf'
import { type IndexStateSchema, NodeEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import type { EventLog } from '../log/port.js'
import { messageIn, recordsOf } from '../log/records.js'
import type { Logger } from '../logger.js'
import type { Database } from '../tables/clickhouse.js'
import type { Head } from '../tables/head.js'
import type { Announcer } from './announce.js'
import type { ChainReader } from './chain-reader.js'
import type { LogShrank, PoisonEvent } from './poison.js'

/** A report is repeated at growing intervals: the poller that read the one before may be gone. */
const REPEAT_MS = { first: 1_000, most: 30_000 }

interface Parts {
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  readonly announcer: Announcer
}

/** Where the index stands beside damage in the log. */
export interface Standing {
  /** Undefined before the first. */
  readonly head: Head | undefined
  /** Height of the highest block that the published chain and the log up to the damage have in common. */
  readonly common: number
  /** Height above which blocks are needed again, where rows of the index were lost. */
  readonly neededAbove: number | undefined
  readonly reader: Pick<ChainReader, 'hashAt' | 'read'>
}

/** Publishes damage in the log for the poller to repair, and follows whether the poller refuses to. */
export class DamageReporter {
  readonly #parts: Parts
  #damage: (PoisonEvent | LogShrank) | undefined
  #repeatAt = 0
  #waitMs = REPEAT_MS.first
  /** Of the first alert for this damage, in topic `committed`. */
  #alertedFrom = Number.MAX_SAFE_INTEGER
  /** Of the next event of topic `node`. */
  #next = 0
  #refusal = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** What the materializer stands at; undefined where the log is sound. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage
  }

  /** Why the poller does not repair it; empty where it has said nothing. */
  get refusal(): string {
    return this.#refusal
  }

  /** Publishes the damage, at once where it is new, else now and then. @returns whether it did. */
  async report(damage: PoisonEvent | LogShrank, standing: Standing): Promise<boolean> {
    const { logger, announcer } = this.#parts
    if (this.#damage?.message !== damage.message) await this.#begin(damage)
    const refusal = this.#refusal
    await this.#followRefusals()
    if (refusal === this.#refusal && performance.now() < this.#repeatAt) return false
    const says =
      this.#refusal === ''
        ? 'waiting for the poller to replace it'
        : `the poller refuses to replace it: ${this.#refusal}`
    logger.error({ code: damage.code }, `log damaged, ${says}: ${damage.message}`)
    const at = await announcer.alert(damage, await this.#stateOf(standing), this.#refusal)
    this.#alertedFrom = Math.min(this.#alertedFrom, at)
    this.#repeatAt = performance.now() + this.#waitMs
    this.#waitMs = Math.min(REPEAT_MS.most, 2 * this.#waitMs)
    return true
  }

  /**
   * Call when events were read.
   * @param next the damage that ends them; undefined for none.
   * @returns whether there was damage, and it is another one now.
   */
  repaired(next: PoisonEvent | LogShrank | undefined): boolean {
    if (this.#damage === undefined || this.#damage.message === next?.message) return false
    this.#parts.logger.warn({}, `log repaired, continuing after: ${this.#damage.message}`)
    this.forget()
    return true
  }

  /** Call where readers have lost sight of the report. */
  reportAgain(): void {
    this.#repeatAt = 0
  }

  /** Call when the damage is passed over. */
  forget(): void {
    this.#damage = undefined
  }

  async #begin(damage: PoisonEvent | LogShrank): Promise<void> {
    this.#damage = damage
    this.#repeatAt = 0
    this.#waitMs = REPEAT_MS.first
    this.#alertedFrom = Number.MAX_SAFE_INTEGER
    this.#refusal = ''
    this.#next = (await this.#parts.log.last('node')) + 1
  }

  async #followRefusals(): Promise<void> {
    const { log } = this.#parts
    // The topic was made again.
    if ((await log.last('node')) + 1 < this.#next) this.#next = 0
    for await (const record of recordsOf(log, 'node', this.#next)) {
      const event = messageIn(NodeEventSchema, record)?.event
      const isNew = event?.case === 'repairRefused' && Number(event.value.alertPosition) >= this.#alertedFrom
      if (isNew) this.#refusal = event.value.reason
      this.#next = record.position + 1
    }
  }

  async #stateOf({
    head,
    common,
    neededAbove,
    reader,
  }: Standing): Promise<MessageInitShape<typeof IndexStateSchema>> {
    const { good, seen, epoch } = reader.read
    const state = {
      headPosition: BigInt(head?.position ?? -1),
      epoch: Math.max(epoch, head?.epoch ?? 0),
      goodPosition: BigInt(good),
      seenPosition: BigInt(seen),
      ...(neededAbove === undefined ? {} : { neededAbove: BigInt(neededAbove) }),
    }
    if (head === undefined || head.tipHeight < 0) return state
    const work = await this.#workOf(head)
    if (common < 0) return { ...state, work }
    const firstHeight = Math.max(0, Math.min(head.finalHeight, common))
    const chain: Buffer[] = []
    for (let height = firstHeight; height <= common; height++)
      chain.push(displayBytes((await reader.hashAt(height)) ?? ''))
    const genesisHash = displayBytes((await reader.hashAt(0)) ?? '')
    return { ...state, genesisHash, chain, firstHeight, work }
  }

  async #workOf({ tipHeight, tipHash }: Head): Promise<Buffer> {
    const sql =
      'SELECT lower(hex(chainwork)) AS work FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1'
    const [row] = await this.#parts.db.query<{ work: string }>(sql, { height: tipHeight, hash: tipHash })
    return Buffer.from(row?.work ?? '', 'hex')
  }
}
