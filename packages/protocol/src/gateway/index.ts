/** The gateway's messages: what wallet apps send and get. */
export * from './accounts'
export * from './catalog'
export { WalletAddress } from './fields'
export * from './health'
export * from './rpc'
export * from './sign-in'
