import { families } from '@tollgate/chains'
import { Amount, Ecosystem, x402V1Networks } from '@tollgate/protocol'
import { problemsOfEvmPlan } from './evm-plan'

/** Tokens of every chain family count amounts with 256 bits. */
const MAX_AMOUNT = 2n ** 256n

/** Finds errors that make a plan unpayable on its chain, or pay the wrong recipient. Ignores members that are missing or no string. */
export function* problemsOfPlan(plan: Record<string, unknown>): Generator<[field: string, message: string]> {
  const { amount, asset_address, pay_to } = plan
  if (Amount.safeParse(amount).success && BigInt(amount as string) >= MAX_AMOUNT)
    yield ['amount', 'must be below 2^256, which is all that a token can count']
  yield* problemsOfChain(plan)

  const ecosystem = Ecosystem.safeParse(plan['ecosystem']).data
  const family = ecosystem && families[ecosystem]
  if (typeof asset_address === 'string' && family && family.parseAsset(asset_address) === undefined)
    yield ['asset_address', `must be ${EXPECTED[ecosystem].asset}`]
  if (typeof pay_to === 'string' && family && family.parseAddress(pay_to) === undefined)
    yield ['pay_to', `must be ${EXPECTED[ecosystem].address}`]

  if (ecosystem === 'evm') yield* problemsOfEvmPlan(plan)
  else if (ecosystem)
    for (const field of ['asset_name', 'asset_version'])
      if (plan[field] !== undefined)
        yield [field, 'belongs to a token of an EVM chain, to its EIP-712 domain']
  if (ecosystem) yield* problemsOfTransferMethods(plan, ecosystem)
}

function* problemsOfTransferMethods(
  plan: Record<string, unknown>,
  ecosystem: Ecosystem,
): Generator<[field: string, message: string]> {
  const { transfer_methods: methods, asset_name, asset_version } = plan
  if (!Array.isArray(methods) || methods.length === 0) return
  if (ecosystem !== 'evm') yield ['transfer_methods', 'belongs to a token of an EVM chain']
  else if (new Set(methods).size < methods.length) yield ['transfer_methods', 'must name each method once']
  else if (methods.includes('eip3009') && (asset_name === undefined || asset_version === undefined))
    yield ['transfer_methods', 'has eip3009, which needs asset_name and asset_version']
}

const EXPECTED: Record<Ecosystem, { asset: string; address: string; chain: string }> = {
  evm: { asset: 'an address', address: 'an address', chain: 'an EVM chain’s number' },
  cosmos: {
    asset: 'a denomination, such as uatom or ibc/ and 64 hex digits',
    address: 'an address in bech32',
    chain: 'a Cosmos chain’s id',
  },
}

/** Clients of x402 version 1 select the EVM chain by the network's name; all others by its id. */
function* problemsOfChain(plan: Record<string, unknown>): Generator<[field: string, message: string]> {
  const { network, chain_id: id } = plan
  const ecosystem = Ecosystem.safeParse(plan['ecosystem']).data
  const known = x402V1Networks.get(String(network))
  if (known !== undefined && ecosystem && ecosystem !== 'evm')
    yield ['network', `must be another name: clients take ${String(network)} for an EVM chain`]
  else if (typeof id !== 'string') return
  else if (known !== undefined && id !== known)
    yield ['chain_id', `must be '${known}', which is ${String(network)}`]
  else if (known === undefined && ecosystem && families[ecosystem]?.isChainId(id) === false)
    yield ['chain_id', `must be ${EXPECTED[ecosystem].chain}`]
}
