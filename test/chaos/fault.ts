import type { Random } from '../../services/simnode/random.js'
import type { World } from './world.js'

/** A fault that occurs while the chain advances. It returns when it is over, or leaves the repair to `World.repair`. */
export interface Fault {
  readonly name: string
  /** The requirement of the fault; it is drawn only if that exists. */
  readonly needs?: Need
  /** The fault occurs after the chain's life of the round and decides itself what the chain does meanwhile. */
  readonly alone?: boolean
  strike(world: World, random: Random): Promise<void>
}

export type Need = 'broker' | 'log disk' | 'engine disk'
