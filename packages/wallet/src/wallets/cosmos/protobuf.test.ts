import { BaseAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import { Coin } from 'cosmjs-types/cosmos/base/v1beta1/coin'
import { SignDoc, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import * as fc from 'fast-check'
import { bytesAt, numberAt, readMessage, textAt, writeMessage } from './protobuf'

const text = fc.string({ unit: 'binary', maxLength: 300 })
const bytes = fc.uint8Array({ maxLength: 300 })
const count = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

test('a message is written byte for byte as CosmJS does', () => {
  fc.assert(
    fc.property(text, text, (denom, amount) => {
      expect(writeMessage({ 1: denom, 2: amount })).toEqual(Coin.encode({ denom, amount }).finish())
    }),
  )
  fc.assert(
    fc.property(bytes, bytes, text, count, (bodyBytes, authInfoBytes, chainId, accountNumber) => {
      const doc = { bodyBytes, authInfoBytes, chainId, accountNumber }
      const written = writeMessage({ 4: accountNumber, 3: chainId, 2: authInfoBytes, 1: bodyBytes })
      expect(written).toEqual(SignDoc.encode(doc).finish())
    }),
  )
  fc.assert(
    fc.property(bytes, fc.array(bytes), (bodyBytes, signatures) => {
      const raw = TxRaw.fromPartial({ bodyBytes, signatures })
      expect(writeMessage({ 1: bodyBytes, 3: signatures })).toEqual(TxRaw.encode(raw).finish())
    }),
  )
})

test('a message of CosmJS is read', () => {
  fc.assert(
    fc.property(text, text, bytes, count, count, (address, typeUrl, value, accountNumber, sequence) => {
      const account = { address, pubKey: { typeUrl, value }, accountNumber, sequence }
      const fields = readMessage(BaseAccount.encode(account).finish())
      const key = readMessage(bytesAt(fields, 2))
      expect({
        address: textAt(fields, 1),
        pubKey: { typeUrl: textAt(key, 1), value: bytesAt(key, 2) },
        accountNumber: numberAt(fields, 3),
        sequence: numberAt(fields, 4),
      }).toEqual(account)
    }),
  )
})

test('fields of fixed length are skipped, and of a repeated field the last is read', () => {
  const fixed = [0x09, ...Array<number>(8).fill(1), 0x15, ...Array<number>(4).fill(1)]
  const fields = readMessage(Uint8Array.from([0x18, 5, ...fixed, 0x18, 6]))
  expect(numberAt(fields, 3)).toBe(6n)
})

test.each([
  ['a tag without a value', [0x08]],
  ['a number that does not end', [0x08, ...Array<number>(11).fill(0xff)]],
  ['fewer bytes than the length says', [0x0a, 3, 1, 2]],
  ['a length beyond every memory', [0x0a, ...Array<number>(9).fill(0xff), 1]],
  ['a group', [0x0b, 0x0c]],
])('%s is no message', (_, content) => {
  expect(() => readMessage(Uint8Array.from(content))).toThrow(RangeError)
})

test('a field of another type is refused, and a missing one is empty', () => {
  const fields = readMessage(writeMessage({ 1: 7n, 2: 'seven' }))
  expect(() => bytesAt(fields, 1)).toThrow(RangeError)
  expect(() => numberAt(fields, 2)).toThrow(RangeError)
  expect([textAt(fields, 3), numberAt(fields, 3)]).toEqual(['', 0n])
})

test('any bytes are read or refused, within the time that their length takes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (any) => {
      try {
        expect(readMessage(any).size).toBeLessThanOrEqual(any.length)
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }),
  )
})
