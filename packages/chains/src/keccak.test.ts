import { randomBytes } from 'node:crypto'
import { hexlify, keccak256 as hashOfEthers } from 'ethers'
import { keccak256 } from './keccak'

const EMPTY = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

test('hashes as ethers does by itself, whatever the length', () => {
  expect(keccak256(Buffer.alloc(0))).toBe(EMPTY)
  // A block has 136 bytes: up to the third.
  for (let length = 0; length <= 300; length++) {
    const bytes = randomBytes(length)
    expect([bytes.toString('hex'), keccak256(bytes)]).toEqual([
      bytes.toString('hex'),
      hexlify(hashOfEthers._(bytes)),
    ])
  }
})

test('a part of a larger buffer is hashed as that part', () => {
  const whole = randomBytes(200)
  expect(keccak256(whole.subarray(50, 114))).toBe(keccak256(Uint8Array.from(whole.subarray(50, 114))))
})
