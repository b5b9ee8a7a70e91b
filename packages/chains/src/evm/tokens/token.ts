import { Interface, toUtf8String } from 'ethers'
import { z } from 'zod'
import type { Nodes, Token, TokenProblem } from '../../family'
import { sameAddress } from '../address'
import { Data, quantity } from '../rpc-schemas'
import { domainSeparator } from '../transfer-methods/eip3009/authorization'
import type { Rpc } from '../rpc'

const abi = new Interface([
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
])

const Text = z.string().min(1).max(128)

/** An EIP-5267 domain of exactly name, version, chain and contract (0x0f). */
const Domain = z.tuple([
  z.literal('0x0f'),
  Text,
  Text,
  z.bigint(),
  z.string(),
  z.string(),
  z.array(z.bigint()).max(0),
])

/** Some old tokens return a name as bytes32, padded with zeros. */
function text(data: string, name: string): string | undefined {
  try {
    const value: unknown =
      data.length === 66 ? toUtf8String(data.replace(/(00)+$/, '')) : abi.decodeFunctionResult(name, data)[0]
    return Text.safeParse(value).data
  } catch {
    return undefined
  }
}

function domainOf(
  data: string,
  chainId: string,
  asset: string,
): { name: string; version: string } | undefined {
  try {
    const answer = [...abi.decodeFunctionResult('eip712Domain', data)].map((part: unknown) =>
      typeof part === 'object' && part !== null ? [...(part as Iterable<unknown>)] : part,
    )
    const [, name, version, chain, contract] = Domain.parse(answer)
    return chain === BigInt(chainId) && sameAddress(contract, asset) ? { name, version } : undefined
  } catch {
    return undefined
  }
}

/** Enough for a getter behind a proxy. */
export const READ_GAS = 150_000n

/**
 * The token as its contract describes it, or why it is not a token. `name` and `version` are its EIP-712 domain. They are
 * omitted unless the contract's DOMAIN_SEPARATOR (or, if it has none, its EIP-5267 eip712Domain) proves them, because a
 * payment in a guessed domain could never settle.
 */
export async function describeToken(
  rpc: Rpc,
  { name: network, chainId }: Pick<Nodes, 'name' | 'chainId'>,
  asset: string,
): Promise<Token | TokenProblem> {
  const get = (name: string) =>
    rpc.run(Data, 'eth_call', [
      { to: asset, data: abi.encodeFunctionData(name), gas: quantity(READ_GAS) },
      'latest',
    ])
  const [code, ...answers] = await Promise.all([
    rpc.call(Data, 'eth_getCode', [asset, 'latest']),
    ...['decimals', 'symbol', 'name', 'version', 'DOMAIN_SEPARATOR', 'eip712Domain'].map(get),
  ])
  if (code === '0x')
    return {
      problem: `There is no contract at this address on ${network}; correct asset or network`,
      isTokensFault: false,
    }
  const [decimals, symbol, name, version, separator, domain] = answers.map((answer) =>
    'value' in answer ? answer.value : '0x',
  ) as [string, string, string, string, string, string]

  const symbolText = text(symbol, 'symbol')
  if (decimals.length !== 66 || BigInt(decimals) > 77n || symbolText === undefined)
    return {
      problem: 'The contract at this address is no ERC-20 token: it does not tell decimals and symbol',
      isTokensFault: true,
    }

  const declared = domainOf(domain, chainId, asset)
  const nameText = text(name, 'name')
  const versions = [text(version, 'version'), '1', '2'].filter((candidate) => candidate !== undefined)
  const candidates = [
    ...(declared ? [declared] : []),
    ...(nameText === undefined ? [] : versions.map((candidate) => ({ name: nameText, version: candidate }))),
  ]
  const proven =
    separator === '0x'
      ? declared
      : candidates.find(({ name, version }) => domainSeparator(name, version, chainId, asset) === separator)
  return { asset, symbol: symbolText, decimals: Number(decimals), ...proven }
}
