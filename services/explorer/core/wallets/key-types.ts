/** The kinds of scripts with one key that a wallet derives from an extended key, in the order in which they are looked for. */
export const KEY_TYPES = ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr'] as const
export type KeyType = (typeof KEY_TYPES)[number]
