import { Keyring } from '../../services/simnode/wallet/keyring.js'
import type { Random } from '../../services/simnode/random.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { electrumHash, electrumStatus, unconfirmedByScript } from '../harness/naive-electrum.js'
import { until } from '../harness/until.js'
import { type ElectrumState, ElectrumWatch, freshElectrumDifferences } from './electrum-watch.js'
import type { World } from './world.js'

/** The numbers of scripts with long histories, of scripts with one transaction, and of scripts that are paid later or never. */
const [BUSY, RARE, LATER] = [20, 20, 40]
/** The longest time after the begin of a round at which its wallet connects. */
const JOIN_MS = 1_000

/** Wallets of the Electrum protocol: one that is subscribed all the time, and one that connects in each round. */
export class ElectrumWallets {
  readonly #chain: NaiveChain
  readonly #scripts: readonly string[]
  readonly #lasting: ElectrumWatch
  #joined: ElectrumWatch | undefined

  private constructor(
    private readonly world: World,
    chain: NaiveChain,
    scripts: readonly string[],
  ) {
    this.#chain = chain
    this.#scripts = scripts
    this.#lasting = this.#watch('the lasting Electrum client')
  }

  /** Chooses the scripts from the chain so far. */
  static async start(world: World): Promise<ElectrumWallets> {
    const chain = new NaiveChain()
    await follow(chain, world.node)
    return new ElectrumWallets(world, chain, scriptsOf(world, chain))
  }

  get notified(): number {
    return this.#lasting.notified
  }

  /** Connects the wallet of a round, at some time, instead of that of the round before. */
  join(random: Random): void {
    void this.#joined?.close()
    this.#joined = this.#watch('the Electrum client of the round', random.below(JOIN_MS))
  }

  /** Compares what the wallets know with the node, which rests, some time after the explorer showed its state. */
  async differences(waitMs: number): Promise<string[]> {
    const watches = [this.#lasting, ...(this.#joined === undefined ? [] : [this.#joined])]
    const state = await this.#state()
    const wrong = (): string[] => watches.flatMap((watch) => watch.wrong(state))
    await until('the Electrum clients know the state', () => wrong().length === 0, waitMs).catch(
      () => undefined,
    )
    return [
      ...wrong(),
      ...(await freshElectrumDifferences(this.world.electrumAddress, state)),
      ...watches.flatMap(({ faults }) => faults),
    ]
  }

  async close(): Promise<void> {
    await Promise.all([this.#lasting.close(), this.#joined?.close()])
  }

  #watch(name: string, delayMs = 0): ElectrumWatch {
    const { electrumAddress: address } = this.world
    return new ElectrumWatch({ name, address, hashes: this.#scripts.map(electrumHash), delayMs })
  }

  async #state(): Promise<ElectrumState> {
    const { node } = this.world
    await follow(this.#chain, node)
    const unconfirmed = await unconfirmedByScript(this.#chain, node)
    const statuses = new Map(
      this.#scripts.map((script) => {
        const history = [...(this.#chain.history.get(script) ?? []), ...(unconfirmed.get(script) ?? [])]
        return [electrumHash(script), electrumStatus(history)]
      }),
    )
    const header = await callNode<string>(node, 'getblockheader', this.#chain.tip?.hash, false)
    return { statuses, header }
  }
}

function scriptsOf({ options: { seed, network } }: World, { history }: NaiveChain): string[] {
  const byLength = [...history].sort(([, one], [, other]) => other.length - one.length)
  const rare = byLength.filter(([, { length }]) => length === 1)
  const keyring = new Keyring(String(seed), 'rich', network)
  const later: string[] = []
  for (let index = keyring.showcase; later.length < LATER; index++) {
    const script = keyring.owner(index).script.toString('hex')
    if (!history.has(script)) later.push(script)
  }
  return [...[...byLength.slice(0, BUSY), ...rare.slice(0, RARE)].map(([script]) => script), ...later]
}
