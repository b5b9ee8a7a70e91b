/** The chain of all calls. */
export const CHAIN = '84532'
/** The chain with long answers, which an upstream has at LONG_PATH. */
export const LONG_CHAIN = '84533'
export const LONG_PATH = '/long'
