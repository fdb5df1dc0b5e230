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

/** The intervals at which a report is repeated: the poller that has read the previous one may have stopped. */
const REPEAT_MS = { first: 1_000, most: 30_000 }

interface Parts {
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  readonly announcer: Announcer
}

/** The state of the index at damage in the log. */
export interface IndexState {
  /** The published head; undefined before the first. */
  readonly head: Head | undefined
  /** Height of the highest block that the published chain and the log up to the damage share. */
  readonly common: number
  /** The height above which blocks are needed again because rows of the index were lost; undefined if none were. */
  readonly neededAbove: number | undefined
  readonly reader: Pick<ChainReader, 'hashAt' | 'read'>
}

/** Publishes damage in the log for the poller to repair, and reads whether the poller refuses to. */
export class DamageReporter {
  readonly #parts: Parts
  #damage: (PoisonEvent | LogShrank) | undefined
  #repeatAt = 0
  #waitMs = REPEAT_MS.first
  /** The position of the first alert for this damage, in topic `committed`. */
  #alertedFrom = Number.MAX_SAFE_INTEGER
  /** The position of the next event of topic `node`. */
  #next = 0
  #refusal = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The damage at which the materializer waits; undefined for none. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage
  }

  /** The reason why the poller does not repair the damage; empty for none. */
  get refusal(): string {
    return this.#refusal
  }

  /** Publishes the damage: at once if it is new, else at growing intervals. @returns whether it did. */
  async report(damage: PoisonEvent | LogShrank, index: IndexState): Promise<boolean> {
    const { logger, announcer } = this.#parts
    if (this.#damage?.message !== damage.message) await this.#begin(damage)
    const refusal = this.#refusal
    await this.#followRefusals()
    if (refusal === this.#refusal && performance.now() < this.#repeatAt) return false
    const outlook =
      this.#refusal === ''
        ? 'waiting for the poller to replace it'
        : `the poller refuses to replace it: ${this.#refusal}`
    logger.error({ code: damage.code }, `log damaged, ${outlook}: ${damage.message}`)
    const at = await announcer.alert(damage, await this.#stateOf(index), this.#refusal)
    this.#alertedFrom = Math.min(this.#alertedFrom, at)
    this.#repeatAt = performance.now() + this.#waitMs
    this.#waitMs = Math.min(REPEAT_MS.most, 2 * this.#waitMs)
    return true
  }

  /**
   * Notes that events were read.
   * @param next the damage after them; undefined for none.
   * @returns whether the previous damage, if any, is repaired.
   */
  repaired(next: PoisonEvent | LogShrank | undefined): boolean {
    if (this.#damage === undefined || this.#damage.message === next?.message) return false
    this.#parts.logger.warn({}, `log repaired, continuing after: ${this.#damage.message}`)
    this.forget()
    return true
  }

  /** Repeats the report at the next call of `report`. Call it when a head has cleared the report for its readers. */
  reportAgain(): void {
    this.#repeatAt = 0
  }

  /** Forgets the damage. Call it when the damage is repaired or skipped. */
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
    // The topic was created again.
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
  }: IndexState): Promise<MessageInitShape<typeof IndexStateSchema>> {
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
