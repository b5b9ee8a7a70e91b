import { multicall3Abi } from '@tollgate/devnet'
import { hexlify, Interface, randomBytes } from 'ethers'
import { aggregate3 } from './multicall'

const abi = new Interface(multicall3Abi)

describe('aggregate3', () => {
  test('is encoded as ethers encodes it', () => {
    for (const lengths of [
      [4],
      [0],
      [31, 32, 33],
      [292, 292],
      [1, 500, 0, 64, 100],
      Array<number>(50).fill(292),
    ])
      for (const allowFailure of [true, false]) {
        const calls = lengths.map((length) => ({
          to: hexlify(randomBytes(20)),
          data: hexlify(randomBytes(length)),
        }))
        expect(aggregate3(calls, allowFailure)).toBe(
          abi.encodeFunctionData('aggregate3', [calls.map(({ to, data }) => [to, allowFailure, data])]),
        )
      }
  })
})
