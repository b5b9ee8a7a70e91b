import { keccak256 } from 'ethers'
import { keccak256 as hash } from 'js-sha3'

// Four times as fast as what ethers brings along, and taken by ethers itself from here on.
keccak256.register((bytes) => new Uint8Array(hash.arrayBuffer(bytes)))

/** The Keccak-256 hash, in hex, that the EVM knows (not SHA3-256, which pads in another way). */
export { keccak256 }
