export * from './family'
export { NativeAmount } from './configuration'
export { families } from './families'
export { curveIsNative } from './secp256k1'
