export type PaymentVariant = { isSponsored: boolean; mode: 'direct' | 'amino' }

/** Variants in sequence: two of three payments are sponsored, every second one is signed as amino JSON. */
export function createPaymentVariants(): () => PaymentVariant {
  let turn = 0
  return () => {
    const variant: PaymentVariant = { isSponsored: turn % 3 !== 2, mode: turn % 2 === 0 ? 'direct' : 'amino' }
    turn++
    return variant
  }
}
