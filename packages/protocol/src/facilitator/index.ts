/** The facilitator's messages beside those of x402 itself: what resource servers, users and operators send and get. */
export * from './accounts'
export * from './discovery'
export * from './metrics'
export * from './networks'
export * from './resources'
