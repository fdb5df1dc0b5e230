import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMPTY_LOCK, type Lock, readsProto } from '../../deploy/reads-proto.js'
import { READS } from '../../services/explorer/core/reads/index.js'
import { declareRead, type Read } from '../../services/explorer/core/reads/read.js'

const ROOT = resolve(import.meta.dirname, '../..')
const PROTO = join(ROOT, 'proto')
const READS_PROTO = join(PROTO, 'headwater/reads/v1/reads.proto')
const LOCK = join(PROTO, 'headwater/reads/v1/reads.lock.json')
const BASELINE = join(PROTO, 'breaking-baseline.binpb')

const node = (...args: string[]): { status: number | null; stdout: string } =>
  spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
const buf = (...args: string[]) => node(join('node_modules', '@bufbuild', 'buf', 'bin', 'buf'), ...args)

describe('reads.proto', () => {
  it('is generated from the declarations: npm run proto', () => {
    const locked = readFileSync(LOCK, 'utf8')
    const { text, lock } = readsProto(JSON.parse(locked) as Lock)
    expect(text).toBe(readFileSync(READS_PROTO, 'utf8'))
    expect(`${JSON.stringify(lock, null, 2)}\n`).toBe(locked)
  })

  it('has the field numbers of the lock file', () => {
    const { numbers } = JSON.parse(readFileSync(LOCK, 'utf8')) as Lock
    const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(BASELINE))
    const published = file.find(({ name }) => name.endsWith('reads.proto'))!
    expect(Object.keys(numbers).length).toBeGreaterThan(100)
    expect(Object.fromEntries(numbersOf(published))).toEqual(numbers)
  })

  it.each(['--generated', '--breaking'])('is the source of the baseline in %s: npm run proto', (what) => {
    expect(node('deploy/check.mjs', what)).toMatchObject({ status: 0 })
  })

  it('has a method for every read, and Subscribe', () => {
    const written = readFileSync(READS_PROTO, 'utf8')
    expect(written.match(/^ {2}rpc /gm)).toHaveLength(READS.length + 1)
    expect(written).toContain('rpc Subscribe(SubscribeRequest) returns (stream ChannelEvent);')
  })
})

/** Field numbers by the path of each message and enum. */
function* numbersOf(
  { messageType: messages, enumType: enums }: Pick<FileDescriptorProto, 'messageType' | 'enumType'>,
  within = '',
): Generator<[string, Record<string, number>]> {
  for (const { name, value } of enums)
    yield [within + name, Object.fromEntries(value.map((each) => [each.name, each.number]))]
  for (const { name, field, nestedType, enumType } of messages) {
    yield [within + name, Object.fromEntries(field.map((each) => [each.name, each.number]))]
    yield* numbersOf({ messageType: nestedType, enumType }, `${within}${name}.`)
  }
}

const readOf = (fields: Parameters<typeof Type.Object>[0], about = 'Things.'): Read =>
  declareRead({
    name: 'things',
    about,
    path: '/things',
    fresh: 'head',
    args: {},
    answer: Type.Object(fields),
    resolve: () => ({}),
  })
const text = (description: string) => Type.String({ description })
const responseIn = (proto: string): string =>
  /message ThingsResponse \{\n([^}]*)\}/
    .exec(proto)?.[1]
    ?.replace(/\n? *\/\/ .*\n/g, '\n')
    .trim() ?? ''
const responses = (...versions: Parameters<typeof Type.Object>[0][]): string[] => {
  let before = EMPTY_LOCK
  return versions.map((fields) => {
    const { text, lock } = readsProto(before, [readOf(fields)])
    // Writes the file as npm run proto does, and parses it.
    before = JSON.parse(JSON.stringify(lock)) as Lock
    return responseIn(text)
  })
}

describe('a read that changes', () => {
  const [a, b, c] = [text('a'), text('b'), Type.Integer({ description: 'c' })]

  it('keeps the numbers of its fields, gives new fields the next number, and never reuses one', () => {
    const versions = responses({ a, b }, { c, b, a }, { c, a }, { a, b }, { a })
    expect(versions.map((each) => each.split(/\n\s*/))).toEqual([
      ['string a = 1;', 'string b = 2;'],
      ['int64 c = 3;', 'string b = 2;', 'string a = 1;'],
      ['reserved 2;', 'reserved "b";', 'int64 c = 3;', 'string a = 1;'],
      ['reserved 2, 3;', 'reserved "c";', 'string a = 1;', 'string b = 4;'],
      ['reserved 2, 3, 4;', 'reserved "b", "c";', 'string a = 1;'],
    ])
  })

  it('keeps the numbers of enums and of nested messages', () => {
    const ofKinds = (...kinds: string[]) => ({
      in: Type.Object(
        {
          kind: Type.Union(
            kinds.map((kind) => Type.Literal(kind)),
            { description: 'k' },
          ),
        },
        { description: 'in' },
      ),
    })
    const before = readsProto(EMPTY_LOCK, [readOf(ofKinds('old', 'good'))])
    const after = readsProto(before.lock, [readOf(ofKinds('new', 'good'))])
    expect(after.text).toMatch(
      /enum Kind \{\s+reserved 1;\s+reserved "KIND_OLD";\s+KIND_UNSPECIFIED = 0;\s+KIND_NEW = 3;\s+KIND_GOOD = 2;/,
    )
  })

  it('must have a description for every field', () => {
    expect(() => readsProto(EMPTY_LOCK, [readOf({ a }, '')])).toThrow(/things has no description/)
    expect(() => readsProto(EMPTY_LOCK, [readOf({ a: Type.String() })])).toThrow(
      /ThingsResponse.a has no description/,
    )
  })
})

describe('the checks of buf', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headwater-proto-'))
    cpSync(join(PROTO, 'headwater'), join(folder, 'proto', 'headwater'), { recursive: true })
    cpSync(join(ROOT, 'buf.yaml'), join(folder, 'buf.yaml'))
  })
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  /**
   * Returns the output of buf for a tree in which one file is changed.
   * @param rules `breaking` by default.
   */
  const complaint = (path: string, change: (text: string) => string, rules = 'breaking'): string => {
    const file = join(folder, 'proto', 'headwater', path)
    const before = readFileSync(file, 'utf8')
    const after = change(before)
    expect(after, 'nothing was changed').not.toBe(before)
    writeFileSync(file, after)
    const { stdout } = buf(rules, folder, ...(rules === 'breaking' ? ['--against', BASELINE] : []))
    writeFileSync(file, before)
    return stdout
  }

  it.each([
    ['events/v1/events.proto', /\bbytes raw = (\d+);/, 'string raw = $1;', /changed type/],
    ['reads/v1/reads.proto', /string prev_hash = 4/, 'string prev_hash = 40', /"4" .*was deleted/],
    ['reads/v1/reads.proto', /\n {2}rpc Tip\(.*/, '', /RPC "Tip" .* was deleted/],
    ['retrieval/v1/retrieval.proto', /(string title) = 2;/, '$1 = 22;', /"2" .*was deleted/],
  ])('find a break in %s', (path, pattern, replacement, said) => {
    expect(complaint(path, (text) => text.replace(pattern, replacement))).toMatch(said)
  })

  it.each([
    ['events/v1/events.proto', 'bytes raw = 6;', /Field "raw" should have a non-empty comment/],
    ['events/v1/events.proto', 'message PoolLeft', /Message "PoolLeft" should have/],
    ['retrieval/v1/retrieval.proto', 'SEMANTIC_READY = 2;', /Enum value "SEMANTIC_READY" should have/],
  ])('require a comment in %s above %s', (path, line, said) => {
    const uncommented = (text: string) => text.replace(new RegExp(`(?:\\n *//.*)+(\\n *${line})`), '$1')
    expect(complaint(path, uncommented, 'lint')).toMatch(said)
  })

  it('accept a new field, and a removed field whose number is reserved', () => {
    const grown = (text: string) =>
      text
        .replace(
          'message Block {',
          'message Block {\n  reserved 4;\n  reserved "prev_hash";\n  string more = 99;',
        )
        .replace(/\n {2}string prev_hash = 4.*/, '')
    expect(complaint('reads/v1/reads.proto', grown)).toBe('')
  })
})
