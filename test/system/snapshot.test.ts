import { appendFile, cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { codeOf, WrongChainError } from '../../pipelines/errors.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import type { Manifest } from '../../pipelines/snapshot/manifest.js'
import { PARTS } from '../../pipelines/snapshot/parts.js'
import { placeAt, type Place } from '../../pipelines/snapshot/place.js'
import { readManifest, restoreSnapshot } from '../../pipelines/snapshot/restore.js'
import { saveSnapshot } from '../../pipelines/snapshot/save.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { isCreated } from '../../pipelines/tables/schema-version.js'
import { claimWriting } from '../../pipelines/tables/writers.js'
import { buildChain, forkAt } from '../../services/simnode/chain/sim-chain.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { FileServer } from '../harness/file-server.js'
import { Pipeline } from '../harness/pipeline.js'
import { quickFolder } from '../harness/quick-folder.js'
import { WithoutBeginning } from '../harness/switch-log.js'
import { IS_WHOLE } from '../harness/whole.js'
import { OBSERVED, pathsOfReads } from '../services/explorer/read-paths.js'

const BLOCKS = 60
const DEPTH = 12
/** The sizes of files: so small that a table has several, and so large that there are few. */
const [FILE_BYTES, LARGER_FILES] = [20_000, 200_000]
const quiet = (): void => undefined

describe('a snapshot', () => {
  const open: { close(): Promise<void> }[] = []
  const databases: string[] = []
  let folder = ''
  let node: Simnode
  let source: Pipeline
  let clean: Pipeline
  let paths: string[] = []
  let tip = ''

  beforeAll(async () => {
    folder = await quickFolder('headwater-snapshot-')
    node = await startSimnode({ seed: 'snapshot', blocks: BLOCKS, txsPerBlock: 3, blockIntervalMs: 0 })
    source = await start()
    clean = await start()
    await Promise.all([source.level(), clean.level()])
    const all = await pathsOfReads((path) => clean.get(path), BLOCKS, {
      answered: 1,
      refused: IS_WHOLE ? 1 : 0,
    })
    paths = all
      .filter(({ read: { name, fresh } }) => fresh === 'head' && !OBSERVED.has(name))
      .map(({ path }) => path)
    tip = node.chain.tip.hash
  })
  afterAll(async () => {
    for (const each of open.reverse()) await each.close()
    const db = new Database({ url: inject('engineUrl'), database: 'default' })
    for (const name of databases) await db.command(`DROP DATABASE IF EXISTS ${name} SYNC`)
    await db.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Starts a pipeline, by default an empty one. */
  async function start(parts: Partial<Parameters<typeof Pipeline.start>[0]> = {}): Promise<Pipeline> {
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: DEPTH }
    const pipeline = await Pipeline.start({ ...options, ...parts })
    open.push(pipeline)
    return pipeline
  }

  async function newLog(name: string): Promise<EventLog> {
    const log = await openEmbeddedLog(join(folder, name))
    open.push(log)
    return log
  }

  function newDatabase(name: string): Database {
    const database = `t_snapshot_${String(process.pid)}_${name.replace('-', '_')}`
    databases.push(database)
    const db = new Database({ url: inject('engineUrl'), database })
    open.push(db)
    return db
  }

  const placeOf = (name: string): Promise<Place> => placeAt(join(folder, name), join(folder, 'scratch'))

  const save = (place: Place, options: Partial<Parameters<typeof saveSnapshot>[0]> = {}) =>
    saveSnapshot({
      db: source.db,
      log: source.log,
      hasLog: true,
      place,
      chain: undefined,
      fileBytes: FILE_BYTES,
      progress: quiet,
      report: quiet,
      ...options,
    })

  const restore = (
    place: Place,
    db: Database,
    log: EventLog,
    options: Partial<Parameters<typeof restoreSnapshot>[0]> = {},
  ) =>
    restoreSnapshot({
      db,
      log,
      restoresLog: true,
      place,
      chain: undefined,
      progressFile: join(folder, `${db.name}.json`),
      progress: quiet,
      report: quiet,
      ...options,
    })

  /** Restores a snapshot into a new pipeline, whose poller and materializer have done nothing yet. */
  async function restored(place: Place, name: string): Promise<Pipeline> {
    const log = await newLog(`${name}-log`)
    return start({ log, prepare: async (db) => void (await restore(place, db, log)) })
  }

  async function expectSameAnswers(one: Pipeline, other: Pipeline): Promise<void> {
    const tags = async (pipeline: Pipeline): Promise<unknown[]> => {
      const answers: unknown[] = []
      for (const path of paths) {
        const { status, height, tip: hash, headers } = await pipeline.get(path)
        answers.push([path, status, height, hash, headers.get('etag')])
      }
      return answers
    }
    const [first, second] = [await tags(one), await tags(other)]
    expect(first.length).toBeGreaterThan(20)
    expect(second).toEqual(first)
  }

  it('made while blocks and reorganisations arrive is the index of its first moment, and continues', async () => {
    const folderPlace = await placeOf('first')
    // The chain changes while files are written: also from below the snapshot's block, and from below its final height.
    const changes = [
      () => node.simulation.mine({ blocks: 2 }),
      () => node.simulation.reorg(5),
      () => node.simulation.mine(),
      () => node.simulation.reorg(DEPTH + 8),
      () => node.simulation.mine({ blocks: 3 }),
    ]
    let files = 0
    const write: Place['write'] = async (...args) => {
      if (++files % 6 === 0 && changes.length > 0) {
        changes.shift()?.()
        await source.poll()
        await source.materialize()
      }
      return folderPlace.write(...args)
    }
    const manifest = await save(Object.assign(Object.create(folderPlace) as Place, { write }))
    expect(changes).toEqual([])
    expect(manifest.head).toMatchObject({ height: BLOCKS, hash: tip })
    const filesOf = (table: string): number => manifest.files.filter(({ of }) => of === table).length
    for (const { table } of PARTS) expect(filesOf(table), table).toBeGreaterThan(0)
    for (const table of ['txs', 'script_outputs', 'blocks', 'chain'])
      expect(filesOf(table), table).toBeGreaterThan(1)

    const target = await restored(folderPlace, 'first')
    expect(await latestHead(target.db)).toMatchObject({ tipHash: tip, tipHeight: BLOCKS })
    await expectSameRows(clean.db, target.db)
    const isShown = await target.get('/blocks/tip')
    expect(isShown.body.hash).toBe(tip)

    await Promise.all([source.level(), clean.level(), target.level()])
    await expectSameRows(clean.db, target.db)
    if (IS_WHOLE) await expectSameAnswers(source, target)
    // Not only in the log: across the point from which the restored index has rows of its own.
    node.simulation.reorg(9)
    node.simulation.mine({ blocks: 4 })
    await Promise.all([source.level(), clean.level(), target.level()])
    await expectSameRows(clean.db, target.db)
    await expectSameAnswers(source, target)
  })

  it('that was interrupted is continued, when it is made and when it is restored', async () => {
    const place = await placeOf('second')
    const written: string[] = []
    const reports: string[] = []
    let left = 9
    const write: Place['write'] = (name, content) => {
      if (left-- === 0) throw new Error('the disk is full')
      written.push(name)
      return place.write(name, content)
    }
    const watched = Object.assign(Object.create(place) as Place, { write })
    const report = (message: string): void => void reports.push(message)
    await expect(save(watched, { fileBytes: LARGER_FILES, report })).rejects.toThrow('the disk is full')
    const db = newDatabase('second')
    const log = await newLog('second-log')
    await expect(restore(place, db, log)).rejects.toThrow(
      /HW_CANNOT_SNAPSHOT|is not complete: run the command/,
    )
    node.simulation.mine({ blocks: 2 })
    await source.level()
    await clean.level()
    // A file that is damaged is written again, and so are all after it, because their order matters.
    await truncate(join(folder, 'second', written[6] ?? ''), 10)
    const before = written.splice(0)
    left = 1_000
    const manifest = await save(watched, { fileBytes: LARGER_FILES, report })
    expect(reports).toEqual([
      expect.stringMatching(
        /^continuing the snapshot of block \d+ after 6 files; a restored machine reads the 2 blocks since from the log$/,
      ),
    ])
    expect(written.slice(0, 3)).toEqual(before.slice(6, 9))
    expect(before.slice(0, 6).concat(written)).toEqual(manifest.files.map(({ name }) => name))

    left = 7
    const local: Place['local'] = (...args) => {
      if (left-- === 0) throw new Error('the connection is lost')
      return place.local(...args)
    }
    const lossy = Object.assign(Object.create(place) as Place, { local })
    await expect(restore(lossy, db, log)).rejects.toThrow('the connection is lost')
    expect(await latestHead(db)).toBeUndefined()
    left = 1_000
    await restore(lossy, db, log, { report })
    expect(reports.at(-1)).toBe('continuing after 7 files')
    expect(left).toBe(1_000 - (manifest.files.length - 7))
    const materializer = new Materializer({
      db,
      log,
      logger: pino({ level: 'silent' }),
      finalityDepth: DEPTH,
    })
    while (await materializer.step());
    await materializer.close()
    await expectSameRows(clean.db, db)
  })

  describe('that is complete', () => {
    let whole: Place
    let copies = 0

    beforeAll(async () => {
      await source.level()
      whole = await placeOf('whole')
      await save(whole, { fileBytes: LARGER_FILES })
    })

    /** Restores a copy of the snapshot that was changed. @returns the error's code and message, and that nothing is served. */
    async function refusal(change: (copy: string) => Promise<void>): Promise<string> {
      const name = `copy${String(copies++)}`
      await cp(join(folder, 'whole'), join(folder, name), { recursive: true })
      await change(join(folder, name))
      const db = newDatabase(name)
      const error: unknown = await restore(await placeOf(name), db, await newLog(`${name}-log`)).catch(
        (thrown: unknown) => thrown,
      )
      await db.createIfAbsent()
      if (await isCreated(db)) expect(await latestHead(db)).toBeUndefined()
      return `${codeOf(error)}: ${(error as Error).message.replaceAll(join(folder, name), 'COPY')}`
    }

    const changed =
      (change: (manifest: Manifest) => unknown) =>
      async (copy: string): Promise<void> => {
        const file = join(copy, 'manifest.json')
        const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest
        await writeFile(file, JSON.stringify(change(manifest)))
      }

    it('is refused if a file is damaged, truncated or missing', async () => {
      const damage = async (copy: string): Promise<void> => {
        const file = join(copy, 'blocks.0.native.zst')
        const content = await readFile(file)
        content.writeUInt8(content.readUInt8(100) ^ 1, 100)
        await writeFile(file, content)
      }
      expect(await refusal(damage)).toMatch(
        /^HW_FILE_DAMAGED: COPY\/blocks.0.native.zst is damaged: its checksum is \w{64}, not \w{64}$/,
      )
      expect(await refusal((copy) => truncate(join(copy, 'heads.0.native.zst'), 50))).toMatch(
        /^HW_FILE_DAMAGED: COPY: heads.0.native.zst has 50 bytes, not \d+$/,
      )
      expect(await refusal((copy) => rm(join(copy, 'spends.0.native.zst')))).toBe(
        'HW_FILE_DAMAGED: COPY: spends.0.native.zst is missing',
      )
      // The manifest names a file with another content of the same size.
      const another = changed((manifest) => ({
        ...manifest,
        files: manifest.files.map((file) =>
          file.of === 'chain' ? { ...file, sha256: 'ab'.repeat(32) } : file,
        ),
      }))
      expect(await refusal(another)).toMatch(/^HW_FILE_DAMAGED: COPY\/chain.0.records.gz is damaged/)
    })

    it('is refused without a manifest, or with one of another format, schema or network', async () => {
      expect(await refusal((copy) => rm(join(copy, 'manifest.json')))).toMatch(
        /^HW_CANNOT_SNAPSHOT: the snapshot in COPY is not complete/,
      )
      const empty = async (copy: string): Promise<void> => {
        await rm(copy, { recursive: true })
        await mkdir(copy)
      }
      expect(await refusal(empty)).toBe('HW_CANNOT_SNAPSHOT: COPY has no manifest.json: it is not a snapshot')
      expect(await refusal((copy) => truncate(join(copy, 'manifest.json'), 200))).toMatch(
        /^HW_CANNOT_SNAPSHOT: COPY\/manifest.json is not valid JSON/,
      )
      const refusals = [
        [(manifest) => ({ ...manifest, format: 2 }), /HW_CANNOT_SNAPSHOT: .* has format 2, this version/],
        [(manifest) => ({ ...manifest, head: {} }), /HW_CANNOT_SNAPSHOT: .* is not a valid manifest: \/head/],
        [
          (manifest) => ({ ...manifest, schema: { ...manifest.schema, version: 99 } }),
          /HW_SCHEMA_MISMATCH: .* has schema version 99, this version of Headwater has \d+: restore it with the version that made it/,
        ],
        [
          (manifest) => ({ ...manifest, schema: { ...manifest.schema, checksum: 'ab'.repeat(32) } }),
          /HW_SCHEMA_MISMATCH: .* with other tables/,
        ],
        [
          (manifest) => ({ ...manifest, network: { ...manifest.network, name: 'moon-main' } }),
          /HW_WRONG_CHAIN: .* contains chain moon-main/,
        ],
        [
          (manifest) => ({
            ...manifest,
            files: manifest.files.map((file) => ({ ...file, of: file.of === 'txs' ? 'writers' : file.of })),
          }),
          /HW_CANNOT_SNAPSHOT: .* has a file of writers, which is not known/,
        ],
        [
          (manifest) => ({
            ...manifest,
            files: manifest.files.map((file) => ({ ...file, name: `../${file.name}` })),
          }),
          /HW_CANNOT_SNAPSHOT: .* is not a valid manifest: \/files\/0\/name/,
        ],
      ] as const satisfies [(manifest: Manifest) => unknown, RegExp][]
      for (const [change, message] of refusals) expect(await refusal(changed(change))).toMatch(message)
      const place = await placeOf('whole')
      await expect(readManifest(place, 'bitcoin-main')).rejects.toThrow(WrongChainError)
    })

    it('is restored only into an empty database and an empty log, and not again', async () => {
      const log = await newLog('other-log')
      await expect(restore(whole, source.db, log)).rejects.toThrow(/has rows in txs: a snapshot is restored/)
      await expect(restore(whole, newDatabase('full-log'), source.log)).rejects.toThrow(
        /the log has records in topic chain/,
      )
      await expect(save(whole)).rejects.toThrow(/contains a complete snapshot already/)
      await expect(save(await placeOf('cut'), { log: new WithoutBeginning(source.log, 3) })).rejects.toThrow(
        /the log begins at position 3: a snapshot contains it from its first event, which LOG_BLOCKS has dropped/,
      )
      const db = newDatabase('taken')
      const progress = (done: number): void => {
        if (done === 5) throw new Error('killed')
      }
      await expect(restore(whole, db, log, { progress })).rejects.toThrow('killed')
      await cp(join(folder, 'whole'), join(folder, 'later'), { recursive: true })
      await appendFile(join(folder, 'later/manifest.json'), '\n')
      await expect(restore(await placeOf('later'), db, log)).rejects.toThrow(
        /is of an unfinished restore of another snapshot/,
      )
      await claimWriting(db, -1)
      await expect(restore(whole, db, log)).rejects.toThrow(/a materializer has started on/)
    })

    it('may be without the log, and is then restored beside a mirror of it', async () => {
      const place = await placeOf('without-log')
      const { files } = await save(place, { hasLog: false, fileBytes: LARGER_FILES })
      expect(files.filter(({ of }) => of === 'chain' || of === 'dead-letters')).toEqual([])
      const log = await newLog('no-log')
      await expect(restore(place, newDatabase('needs-log'), log)).rejects.toThrow(/has no log: set LOG_URL/)
      const options = { restoresLog: false }
      await expect(restore(place, newDatabase('other-log'), log, options)).rejects.toThrow(
        /the snapshot is of another log/,
      )
      const db = newDatabase('mirrored')
      await restore(place, db, source.log, options)
      await expectSameRows(source.db, db)
    })

    it.runIf(IS_WHOLE)('is made on and restored from a server whose connections break', async () => {
      const server = new FileServer()
      const url = await server.listen()
      const broken = new Set<string>()
      server.breaks = (request) =>
        /^(PUT|GET) (blocks|txs|chain)/.test(request) && !broken.has(request) && !!broken.add(request)
      const place = await placeAt(url, join(folder, 'scratch'))
      expect(place.name).not.toContain('secret')
      const manifest = await save(place, { fileBytes: LARGER_FILES })
      expect([...server.files.keys()].toSorted()).toEqual(
        [...manifest.files.map(({ name }) => name), 'manifest.json', 'unfinished.json'].toSorted(),
      )
      const target = await restored(place, 'served')
      expect(server.requests).toContainEqual(expect.stringMatching(/^GET (blocks|txs|chain)\S* [1-9]\d*$/))
      expect(broken.size).toBeGreaterThan(4)
      await expectSameRows(source.db, target.db)
      expect(await readdir(join(folder, 'scratch'))).toEqual([])
      server.files.set('txs.0.native.zst', Buffer.alloc(manifest.files[0]?.bytes ?? 0))
      await expect(restore(place, newDatabase('served'), await newLog('served-damaged'))).rejects.toThrow(
        /txs.0.native.zst has the checksum \w{64}, not \w{64}$/,
      )
      server.files.delete('manifest.json')
      await expect(readManifest(place, undefined)).rejects.toThrow(/is not complete/)
      const stranger = await placeAt(url.replace('secret', 'wrong'), join(folder, 'scratch'))
      await expect(readManifest(stranger, undefined)).rejects.toThrow(
        /refuses GET manifest.json with status 401/,
      )
      await server.close()
    })
  })

  it('contains the witness of a block whose transaction another block replaces while it is made', async () => {
    const chain = buildChain({ seed: 'witnesses' })
    const { script } = chain.keyring.ownerOf('p2wpkh')
    while (chain.tip.height < 20) chain.mine({ payTo: script })
    const coinbase = chain.read(chain.at(1) ?? chain.tip).txs[0]
    const spend = (witness: string) =>
      chain.pay({
        from: [
          {
            txid: coinbase?.txid ?? '',
            vout: coinbase?.outputs.findIndex(({ value }) => value > 1000n) ?? -1,
          },
        ],
        to: [{ value: 1000n, script }],
        unlock: () => ({ scriptSig: Buffer.alloc(0), witness: [Buffer.from(witness)] }),
      })
    const replaced = chain.mine({ txs: [spend('witness 1')] })
    const other = await startSimnode({ chain })
    open.push(other)
    const pipeline = await start({ nodeUrl: other.url })
    await pipeline.level()
    const place = await placeOf('witnesses')
    let isFirst = true
    const write: Place['write'] = async (...args) => {
      if (isFirst) {
        isFirst = false
        const fork = forkAt(chain, replaced.height - 1)
        fork.mine({ txs: [spend('witness 2')] }, {})
        fork.mine()
        fork.activate()
        await pipeline.poll()
        await pipeline.materialize()
      }
      return place.write(...args)
    }
    const watched = Object.assign(Object.create(place) as Place, { write })
    await save(watched, { db: pipeline.db, log: pipeline.log, fileBytes: 2_000 })
    const target = await restored(place, 'witnesses')
    const { body } = await target.get(`/block/${replaced.hash}/txs?witness=true`)
    const witnesses = (body.items as { inputs: { witness: string[] }[] }[]).flatMap(({ inputs }) =>
      inputs.map(({ witness }) => Buffer.from(witness[0] ?? '', 'hex').toString()),
    )
    expect(witnesses).toContain('witness 1')
    expect(witnesses).not.toContain('witness 2')
  })

  it('is not one file', async () => {
    await writeFile(join(folder, 'snapshot.tar'), '')
    await expect(placeOf('snapshot.tar')).rejects.toThrow(/is a file: a snapshot is a folder/)
    await expect(placeAt('s3://bucket/x', folder)).rejects.toThrow(/in a folder, or at an http or https URL/)
  })
})
