export * from './family'
export { families } from './families'
export { curveIsNative } from './curve'
