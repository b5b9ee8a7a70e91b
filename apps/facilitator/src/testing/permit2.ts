import { PERMIT2_ADDRESS, X402_PERMIT2_PROXY_ADDRESS } from '@tollgate/devnet'
import { hexlify, randomBytes } from 'ethers'
import { inSeconds, inVersion2, members, usdcDomain, type Payer, type PaymentRequest } from './payment'

const permit2 = { name: 'Permit2', chainId: 84532, verifyingContract: PERMIT2_ADDRESS }

const transferTypes = {
  PermitWitnessTransferFrom: members(
    'TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline, Witness witness',
  ),
  TokenPermissions: members('address token, uint256 amount'),
  Witness: members('address to, uint256 validAfter'),
}
const permitTypes = {
  Permit: members('address owner, address spender, uint256 value, uint256 nonce, uint256 deadline'),
}

/**
 * The same payment by Permit2 in x402 version 2, from a wallet without an allowance, with permit `number` of
 * the token.
 */
export async function byPermit2(payer: Payer, request: PaymentRequest, number = 0) {
  const { paymentPayload, paymentRequirements, ...body } = inVersion2(request)
  const { amount, payTo, asset } = paymentRequirements
  const deadline = inSeconds(60)
  const transfer = {
    permitted: { token: asset, amount },
    spender: X402_PERMIT2_PROXY_ADDRESS,
    nonce: BigInt(hexlify(randomBytes(32))).toString(),
    deadline,
    witness: { to: payTo, validAfter: '0' },
  }
  const permit = { spender: PERMIT2_ADDRESS, nonce: String(number), deadline }
  const permitMessage = { ...permit, owner: payer.address, value: amount }
  const info = {
    ...permit,
    from: payer.address,
    asset,
    amount,
    signature: await payer.signTypedData(usdcDomain, permitTypes, permitMessage),
    version: '1',
  }
  const payload = {
    signature: await payer.signTypedData(permit2, transferTypes, transfer),
    permit2Authorization: { ...transfer, from: payer.address },
  }
  return {
    ...body,
    paymentPayload: { ...paymentPayload, payload, extensions: { eip2612GasSponsoring: { info } } },
    paymentRequirements,
  }
}
