import { PERMIT2_ADDRESS, USDC_ADDRESS, X402_PERMIT2_PROXY_ADDRESS } from '@tollgate/devnet'
import { hexlify, randomBytes, type HDNodeWallet } from 'ethers'
import { inSeconds, inVersion2, type PaymentRequest } from './payment'

const permit2 = { name: 'Permit2', chainId: 84532, verifyingContract: PERMIT2_ADDRESS }
const usdc = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS }

const transferTypes = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
}
const permitTypes = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
}

/**
 * The same payment by Permit2, as x402 version 2 has it: of a wallet that approved nothing, with its permit number `number` to
 * the token.
 */
export async function byPermit2(payer: HDNodeWallet, request: PaymentRequest, number = 0) {
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
    signature: await payer.signTypedData(usdc, permitTypes, permitMessage),
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
