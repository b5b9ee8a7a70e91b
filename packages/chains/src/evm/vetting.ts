import { ChainUnavailable, type NetworkSettings, type Token, type Unfit } from '../family'
import { parseAddress, ZERO_ADDRESS } from './address'
import { Block, Data, quantity } from './answers'
import { calls, domainSeparator } from './eip3009'
import { endow } from './endowment'
import { MethodMissing, type Rpc, RpcError } from './rpc'
import { printable, simulate } from './simulation'
import { describeToken, READ_GAS } from './token'
import { callsOf, failsForGood, prepareTrial, problemIn } from './trial'

type Settings = Pick<NetworkSettings, 'name' | 'chainId' | 'maxGas'> & { signers: readonly string[] }

/** However many endpoints there are, and however slow. */
const PATIENCE_MS = 15_000

/**
 * The token at `wanted.asset`, where payments can be taken in it, or the first reason why not: it is the contract that it is
 * said to be, its EIP-712 domain is proven, and EIP-3009 holds: what is signed moves exactly, once, and nothing else does.
 * Tried out with a payer made up for it, on the chain's present state; nothing is sent. A token that knows a simulation when
 * it sees one can still pass, which is why a settlement counts by its Transfer event alone.
 */
export async function vetToken(
  rpc: Rpc,
  settings: Settings,
  wanted: Pick<Token, 'asset' | 'decimals'>,
  patienceMs = PATIENCE_MS,
): Promise<Token | Unfit> {
  const asset = parseAddress(wanted.asset)
  if (asset === undefined) return { problem: 'asset is no EVM address; give 0x and 40 hex digits' }
  return within(settings.name, patienceMs, async () => {
    const token = await describeToken(rpc, settings, asset)
    if ('problem' in token) return token
    const problem = differs(token, wanted) ?? (await tryOut(rpc, settings, token).catch(explain))
    return problem === undefined ? token : { problem }
  })
}

async function within<T>(name: string, ms: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ChainUnavailable(`${name} took more than ${ms} ms to vet a token`)),
      ms,
    )
  })
  return Promise.race([work(), tooLate]).finally(() => clearTimeout(timer))
}

function differs(token: Token, wanted: Pick<Token, 'decimals'>): string | undefined {
  if (token.decimals !== wanted.decimals)
    return `decimals is not ${wanted.decimals}: the contract's own is ${token.decimals}; send that`
  if (token.name === undefined || token.version === undefined)
    return "The token's EIP-712 domain cannot be proven: neither its DOMAIN_SEPARATOR nor its eip712Domain confirms a name and a version, so nobody could know what to sign"
  return undefined
}

/** What a node will not try cannot be vouched for. That it gives no answer at all is another matter. */
function explain(error: unknown): string {
  const refused = error instanceof ChainUnavailable && error.cause !== undefined ? error.cause : error
  if (!(refused instanceof MethodMissing || refused instanceof RpcError)) throw error
  return `The token cannot be tried out: give the network an RPC URL whose node offers eth_createAccessList, eth_simulateV1 and state overrides (${printable(refused.message)})`
}

async function tryOut(rpc: Rpc, settings: Settings, token: Token): Promise<string | undefined> {
  const { chainId, maxGas, signers } = settings
  const { asset, name = '', version = '', decimals } = token
  const [from = ZERO_ADDRESS] = signers
  const block = await rpc.ask(Block, 'eth_getBlockByNumber', ['latest', false])
  const separator = domainSeparator(name, version, chainId, asset)
  const trial = prepareTrial(asset, separator, decimals, block.timestamp)
  const { payer, endowment, one } = trial

  const storage = await endow(rpc, { asset, holder: payer, amount: endowment, from })
  if (storage === undefined)
    return 'The token cannot be tried out: no word of the storage that balanceOf reads is the balance of its holder'

  const run = (data: string, gas: bigint) =>
    rpc.run(Data, 'eth_call', [{ from, to: asset, data, gas: quantity(gas) }, 'latest', storage])
  const [used, paid] = await Promise.all([
    run(calls.isAuthorizationUsed(one), READ_GAS),
    run(calls.transfer(one, true), maxGas),
  ])
  return (
    checkStandard(used) ??
    checkAnswer(paid) ??
    problemIn(await simulate(rpc, { from, to: asset, storage, block }, callsOf(trial, maxGas)), trial)
  )
}

type Answer = { value: string } | { reverted: string }

function checkStandard(used: Answer): string | undefined {
  if ('reverted' in used || used.value.length !== 66)
    return 'The token does not take EIP-3009 authorizations: authorizationState gives no answer'
  return BigInt(used.value) === 0n
    ? undefined
    : 'authorizationState calls an authorization used that nobody has used'
}

/** Whoever runs a whole trial of calls that answer at length holds all the answers. */
function checkAnswer(paid: Answer): string | undefined {
  if ('reverted' in paid) return failsForGood(paid.reverted)
  return paid.value.length > 66 ? 'transferWithAuthorization answers more than a word' : undefined
}
