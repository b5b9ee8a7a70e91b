const EVM_HASH = /^0x[0-9a-f]{64}$/i
const COSMOS_HASH = /^[0-9a-f]{64}$/i

/** The transaction of a payment, as its recipient states it; nothing for a text that is no hash of the payment's chain. */
export function transactionIn({
  network,
  transaction = '',
}: {
  network: string
  transaction?: string | undefined
}): { transaction?: string } {
  const form = network.startsWith('eip155:') ? EVM_HASH : COSMOS_HASH
  return form.test(transaction) ? { transaction } : {}
}
