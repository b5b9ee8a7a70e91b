import { families } from '@tollgate/chains'
import { Amount } from '@tollgate/protocol'

/** As a wallet names a chain (EIP-155): a whole number in decimal digits. */
export const evmChainId = /^[1-9][0-9]{0,18}$/

/** Amounts of a token are of this many values (uint256). */
const AMOUNTS = 2n ** 256n

/**
 * What makes a plan’s price one that no token can count, or that goes to the wrong place. Members that are missing or
 * no text are passed over.
 */
export function* problemsOfEvmPlan(
  plan: Record<string, unknown>,
): Generator<[field: string, message: string]> {
  const { asset_address, pay_to, amount } = plan
  if (Amount.safeParse(amount).success && BigInt(amount as string) >= AMOUNTS)
    yield ['amount', 'must be below 2^256, which is all that a token can count']

  for (const [field, text] of Object.entries({ asset_address, pay_to })) {
    const problem = typeof text === 'string' ? problemOfAddress(text) : undefined
    if (problem !== undefined) yield [field, problem]
  }
  const recipient = addressIn(pay_to)
  if (recipient === undefined) return
  if (recipient === addressIn(asset_address)) yield ['pay_to', 'must not be the asset itself']
  if (/^0x0+$/.test(recipient)) yield ['pay_to', 'must be somebody’s address']
}

const addressIn = (value: unknown) =>
  typeof value === 'string' ? families.evm?.parseAddress(value) : undefined

/** Letters of one case carry no checksum; letters of both do (EIP-55), and a slip of the pen shows in it. */
function problemOfAddress(text: string): string | undefined {
  const canonical = addressIn(text)
  if (canonical === undefined) return 'must be an address'
  const digits = text.slice(2)
  const isChecksummed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  return isChecksummed && digits !== canonical.slice(2)
    ? 'is mistyped: its capital letters are not those of its checksum (EIP-55)'
    : undefined
}
