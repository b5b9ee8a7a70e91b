import { families } from '@tollgate/chains'

/** Finds addresses that would send the price to the wrong place. Ignores members that are missing or no string. */
export function* problemsOfEvmPlan(
  plan: Record<string, unknown>,
): Generator<[field: string, message: string]> {
  const { asset_address, pay_to } = plan
  for (const [field, text] of Object.entries({ asset_address, pay_to }))
    if (typeof text === 'string' && isMistyped(text))
      yield [field, 'is mistyped: its capital letters are not those of its checksum (EIP-55)']

  const recipient = addressIn(pay_to)
  if (recipient === undefined) return
  if (recipient === addressIn(asset_address)) yield ['pay_to', 'must not be the asset itself']
  if (/^0x0+$/.test(recipient)) yield ['pay_to', 'must be somebody’s address']
}

const addressIn = (value: unknown) =>
  typeof value === 'string' ? families.evm?.parseAddress(value) : undefined

/** An address in mixed case carries a checksum (EIP-55). */
function isMistyped(text: string): boolean {
  const digits = text.slice(2)
  const isChecksummed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  const canonical = addressIn(text)
  return canonical !== undefined && isChecksummed && digits !== canonical.slice(2)
}
