import { deployContracts, deploySmartWallet, fundWallet, startAnvil, usdcAbi } from '@tollgate/devnet'
import { Contract, hexlify, JsonRpcProvider, parseEther, randomBytes, toQuantity, Wallet } from 'ethers'
import type {
  Chain,
  PendingPayment,
  TransactionStatus,
  NetworkSettings,
  Refusal,
  SignedTransaction,
  OwnTransaction,
  Terms,
} from '../../family'
import { createChain } from '../chain'
import type { EvmSettings } from '../network'
import type { EvmPayment } from '../transfer-methods/payment'
import { type Authorization, signPayment, usdc, usdcDomain } from './authorization'

const sharedChain = (): string => {
  const url = process.env.TEST_EVM_RPC_URL
  if (url === undefined)
    throw new Error('TEST_EVM_RPC_URL is not set: run the tests from the root, which starts a chain')
  return url
}

export type Mined = Extract<TransactionStatus<EvmPayment>, { status: 'mined' }>

export type TestChain = Awaited<ReturnType<typeof openTestChain>>

/**
 * A development chain, the one that all tests share unless another is given, with a settlement signer and a payer of this
 * test's own, and terms that the payer can meet.
 */
export async function openTestChain(rpcUrl = sharedChain()) {
  const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, cacheTimeout: -1 })
  const open: Chain<EvmPayment>[] = []

  /** All that was sent before is in a block after. */
  const mine = (blocks = 1) => provider.send('anvil_mine', [toQuantity(blocks)])

  const newWallet = async (): Promise<Wallet> => {
    const wallet = new Wallet(hexlify(randomBytes(32)), provider)
    await fundWallet(rpcUrl, wallet.address, { usdc: 0n, wei: parseEther('10') })
    return wallet
  }
  const [signer, payer] = [await newWallet(), await newWallet()]
  const token = new Contract(usdc.asset, usdcAbi, provider)
  const send = async (from: Wallet, to: string, data: string): Promise<string> => {
    const transaction = await from.sendTransaction({ to, data })
    await mine()
    const receipt = await provider.getTransactionReceipt(transaction.hash)
    if (receipt?.status !== 1) throw new Error(receipt ? 'The transaction was reverted' : 'It was not mined')
    return transaction.hash
  }
  const tokenCall = (name: string, args: readonly unknown[]) => token.interface.encodeFunctionData(name, args)
  const mint = (to: string, amount: bigint) => fundWallet(rpcUrl, to, { usdc: amount })
  await mint(payer.address, 1_000_000n)

  const settings: NetworkSettings & EvmSettings = {
    name: 'base-sepolia',
    ecosystem: 'evm',
    chainId: '84532',
    rpcUrls: [rpcUrl],
    rpcTimeoutMs: 5_000,
    signerKeys: [signer.privateKey],
    confirmations: 1,
    minRemainingValiditySeconds: 10,
    maxFeePerGas: 100_000_000_000n,
    walletFactories: [],
    maxGas: 300_000n,
  }
  const connect = (changes: Partial<NetworkSettings & EvmSettings> = {}): Chain<EvmPayment> => {
    const chain = createChain({ ...settings, ...changes })
    open.push(chain)
    return chain
  }
  const chain = connect()
  const terms: Terms = { token: usdc, payTo: Wallet.createRandom().address, amount: 10_000n }

  const pending = (payment: EvmPayment, of: Terms = terms, isAlone = false): PendingPayment<EvmPayment> => ({
    payment,
    terms: of,
    isAlone,
    isBehind: false,
  })
  /** Where the signer's next transaction stands. */
  const from = async (on = chain) => ({
    signer: signer.address,
    nonce: await on.signer.nextNonce(signer.address),
  })

  async function signBatch(
    batch: readonly PendingPayment<EvmPayment>[],
    on = chain,
    at?: { signer: string; nonce: bigint },
  ): Promise<OwnTransaction> {
    const prepared = await on.signer.prepare(batch, at ?? (await from(on)))
    if ('reason' in prepared) throw new Error(prepared.detail)
    return on.signer.sign(prepared)
  }
  const sign = (payment: EvmPayment, of: Terms = terms, on = chain): Promise<OwnTransaction> =>
    signBatch([pending(payment, of)], on)

  /** Broadcasts, mines a block and returns the transaction's status. */
  async function carryOut(transaction: SignedTransaction): Promise<Mined & { hash: string }> {
    await chain.node.broadcast(transaction)
    await mine()
    const inspection = await chain.node.transactionStatus(transaction.hash)
    if (inspection.status !== 'mined') throw new Error('The transaction was not mined')
    return { ...inspection, hash: transaction.hash }
  }

  return {
    chain,
    connect,
    settings,
    provider,
    signer,
    payer,
    terms,
    newWallet,
    send,
    mine,
    mint,
    pending,
    from,
    sign,
    signBatch,
    carryOut,
    tokenCall,

    /** The payer takes an authorization back. */
    async cancel({ payer: authorizer, nonce }: EvmPayment): Promise<void> {
      const types = {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      }
      const signature = await payer.signTypedData(usdcDomain, types, { authorizer, nonce })
      const call = token.interface.encodeFunctionData('cancelAuthorization(address,bytes32,bytes)', [
        authorizer,
        nonce,
        signature,
      ])
      await send(payer, usdc.asset, call)
    },

    balance: (address: string): Promise<bigint> =>
      token.getFunction('balanceOf').staticCall(address) as Promise<bigint>,

    /** A wallet that is a contract, and signs what `owner` signs. */
    async newSmartWallet(owner: Wallet): Promise<string> {
      const address = await deploySmartWallet(rpcUrl, owner.address)
      await mint(address, 1_000_000n)
      return address
    },

    /** Sets the code of a new address. */
    async place(code: string): Promise<string> {
      const { address } = Wallet.createRandom()
      await provider.send('anvil_setCode', [address, code])
      return address
    },

    /** The refusal of a payment that meets the terms but for these changes. */
    async refusal(
      changes: Partial<Authorization> = {},
      otherTerms: Partial<Terms> = {},
      domain = usdcDomain,
      on = chain,
    ): Promise<Refusal | undefined> {
      const signed = await signPayment(payer, terms, changes, domain)
      return on.payments.verify({ payment: signed, terms: { ...terms, ...otherTerms }, now: new Date() })
    },

    /** Signs, broadcasts and mines, and returns the transaction's status. */
    async settle(
      payment: EvmPayment,
      of: Terms = terms,
    ): Promise<Mined & { hash: string; isSettled: boolean }> {
      const mined = await carryOut(await sign(payment, of))
      return { ...mined, isSettled: mined.settles(payment, of) }
    },

    close(): void {
      for (const chain of open) chain.close()
      provider.destroy()
    },
  }
}

/** A chain of this test's own, to stop, to hurry and to break. */
export async function openOwnChain() {
  const anvil = await startAnvil()
  await deployContracts(anvil.rpcUrl)
  const world = await openTestChain(anvil.rpcUrl)
  return {
    ...world,
    setPace: anvil.setPace,
    async close(): Promise<void> {
      world.close()
      await anvil.stop()
    },
  }
}
export type OwnChain = Awaited<ReturnType<typeof openOwnChain>>
