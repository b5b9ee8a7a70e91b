import { id } from 'ethers'

/** Contracts of a few instructions, for payers and tokens that mean no good. Placed as they are with `anvil_setCode`. */
const MAGIC = `7f${id('isValidSignature(bytes32,bytes)').slice(2, 10).padEnd(64, '0')}`
const RETURN_WORD = '5f5260205ff3'

/** Any signature is mine. */
export const credulousWallet = `0x${MAGIC}${RETURN_WORD}`
/** No signature is mine. */
export const refusingWallet = `0x5f${RETURN_WORD}`
/** Never comes to an end. */
export const endlessWallet = '0x5b5f56'
/** Accepts any signature in a call without gas price, and none in a transaction. */
export const lyingWallet = `0x${MAGIC}3a1502${RETURN_WORD}`
/** A signature of 65 bytes whose last one is 0 is mine, and no other: to this wallet, v of 0 means something of its own. */
export const zeroVWallet = '0x631626ba7e60e01b60a43560f81c15025f5260205ff3'
/** The empty signature is mine, as of a wallet that stored on chain what it signed, and no other. */
export const onChainSigner = '0x60443515631626ba7e60e01b025f5260205ff3'
/** Answers a megabyte. */
export const talkativeWallet = '0x620fffff5ff3'

const push32 = (hex: string): string => `7f${hex.slice(2)}`
const [from, to, value, nonce] = ['600435', '602435', '604435', '60a435']
const usedEvent = `${nonce}${from}${push32(id('AuthorizationUsed(address,bytes32)'))}5f5fa3`
const transferEvent = `5f52${to}${from}${push32(id('Transfer(address,address,uint256)'))}60205fa3`

/** Takes one unit of every transfer for itself: its Transfer names less than was authorized. */
export const feeTakingToken = `0x${usedEvent}6001${value}03${transferEvent}00`
/** Takes any authorization, any number of times, and says nothing. */
export const silentToken = '0x00'
/** Says Transfer and never AuthorizationUsed. */
export const carelessToken = `0x${value}${transferEvent}00`
