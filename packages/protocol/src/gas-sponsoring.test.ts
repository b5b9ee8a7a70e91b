import { GAS_SPONSORING, signedPayloadOf } from './gas-sponsoring'

const permit2 = { signature: '0xab', permit2Authorization: { from: '0x01' } }
const sponsoring = { info: { from: '0x01', signature: '0xcd', version: '1' } }

test('the token’s permit is put beside the Permit2 transfer', () => {
  expect(
    signedPayloadOf({ payload: permit2, extensions: { [GAS_SPONSORING]: sponsoring, other: 1 } }),
  ).toEqual({
    ...permit2,
    [GAS_SPONSORING]: sponsoring,
  })
})

test.each([
  ['another method', { signature: '0xab', authorization: {} }, { [GAS_SPONSORING]: sponsoring }],
  ['a payload as text', 'cGVybWl0MkF1dGhvcml6YXRpb24', { [GAS_SPONSORING]: sponsoring }],
  ['a payment without extensions', permit2, undefined],
  ['extensions that are null', permit2, null],
  ['other extensions', permit2, { bazaar: {} }],
  ['a null extension', permit2, { [GAS_SPONSORING]: null }],
])('%s keeps its payload', (_name, payload, extensions) => {
  expect(signedPayloadOf({ payload, extensions })).toBe(payload)
})
