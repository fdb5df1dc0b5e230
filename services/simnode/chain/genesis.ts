/**
 * The genesis block of the recorded regtest node, with which the simulator begins on every network. Its coinbase is not part of
 * the UTXO set, so its coins are not part of the supply.
 */
export const GENESIS_RAW = Buffer.from(
  '010000000000000000000000000000000000000000000000000000000000000000000000' +
    'b18d915d7a46381bf175daefd04b7e14816bb17d25cc54955fcf06d30b3188ec80989b69ffff7f2003000000' +
    '01' +
    '01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff45' +
    '04ffff001d01043d4254512067656e657369732072656d696e653a207175616e74756d2d73616665206c61756e6368' +
    '20626173656c696e652c2032362f4665622f32303236' +
    'ffffffff010065cd1d00000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6' +
    '49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000',
  'hex',
)

export const GENESIS_TXID = 'ec88310bd306cf5f9554cc257db16b81147e4bd0efda75f11b38467a5d918db1'
/** Unix seconds. */
export const GENESIS_TIME = 1_771_804_800
/** The easiest target of regtest: the simulator finds a block in two attempts on average. */
export const BITS = 0x207fffff
