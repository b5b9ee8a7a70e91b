import { fundWallet, USDC_ADDRESS, usdcAbi, type Apps } from '@tollgate/devnet'
import { type SettleRequest } from '@tollgate/protocol'
import { Interface, Wallet } from 'ethers'
import { settleRequest } from '../testing/paying'
import { askNode, evmPayingChain, paymentOf, type Payment } from './paying-chain'

export type Evm = ReturnType<typeof openEvm>

type Receipt = { gasUsed: string; from: string; blockNumber: string }

type Eip3009 = {
  signature: string
  authorization: {
    from: string
    to: string
    value: string
    validAfter: string
    validBefore: string
    nonce: string
  }
}

const usdc = new Interface(usdcAbi)
const TRANSFER = 'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)'
const GWEI = 10n ** 9n
const ETHER = 10n ** 18n

const hex = (value: bigint) => `0x${value.toString(16)}`

/** The development chain: payments in USDC on it, and what can be done to it. */
export function openEvm(anvil: Pick<Apps['foundation']['anvil'], 'rpcUrl' | 'chainId' | 'setPace'>) {
  const rpc = (method: string, ...params: unknown[]) => askNode(anvil.rpcUrl, method, ...params)
  return {
    ...evmPayingChain(anvil),
    rpc,
    height: async () => BigInt((await rpc('eth_blockNumber')) as string),

    /** What a transaction used, and in which block; undefined where the chain has it in none. */
    async mined(transaction: string) {
      const receipt = (await rpc('eth_getTransactionReceipt', transaction)) as Receipt | null
      if (receipt === null) return undefined
      return { gas: BigInt(receipt.gasUsed), signer: receipt.from, block: BigInt(receipt.blockNumber) }
    },

    /** Makes one block, whose base fee is `baseFee` (wei) where that is told. */
    async mine({ baseFee }: { baseFee?: bigint } = {}) {
      if (baseFee !== undefined) await rpc('anvil_setNextBlockBaseFeePerGas', hex(baseFee))
      await rpc('evm_mine')
    },

    /** A payment, and a signed transaction in which its payer uses the same authorization nonce for something else. */
    async payAndRival(payTo: string, value: bigint): Promise<{ payment: Payment; rival: string }> {
      const payer = Wallet.createRandom()
      await fundWallet(anvil.rpcUrl, payer.address, { usdc: value, wei: ETHER })
      const request = await settleRequest(payer, payTo, value)
      const { nonce } = authorizationIn(request).authorization
      const other = await settleRequest(payer, Wallet.createRandom().address, value, { nonce })
      const rival = await payer.signTransaction({
        type: 2,
        chainId: 84532,
        nonce: 0,
        to: USDC_ADDRESS,
        data: callOf(authorizationIn(other)),
        gasLimit: 200_000,
        maxFeePerGas: 100n * GWEI,
        maxPriorityFeePerGas: GWEI,
      })
      return { payment: paymentOf(payer.address, request), rival }
    },

    /** Puts others in the place of the newest `depth` blocks: the first has the signed `transactions`, and nothing else is in them. */
    reorg: (depth: bigint, transactions: readonly string[] = []) =>
      rpc(
        'anvil_reorg',
        Number(depth),
        transactions.map((raw) => [raw, 0]),
      ),
  }
}

const authorizationIn = ({ paymentPayload }: SettleRequest) => paymentPayload.payload as Eip3009

const callOf = ({ signature, authorization: { from, to, value, validAfter, validBefore, nonce } }: Eip3009) =>
  usdc.encodeFunctionData(TRANSFER, [from, to, value, validAfter, validBefore, nonce, signature])
