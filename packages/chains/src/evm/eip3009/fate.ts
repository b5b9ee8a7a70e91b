import { ChainUnavailable, type Fate, type Terms } from '../../family'
import { answeredWord } from '../abi'
import { Data, quantity } from '../answers'
import { unusedFate } from '../carried'
import { BLOCKS_APART, confirmedHeight, heightSince, locate, unusable } from '../confirmed'
import type { EvmNetwork } from '../network'
import { searchBack } from '../search'
import { calls, holdsTransfer, holdsUse, spentTopics } from './authorization'
import type { AuthorizedPayment } from './payment'

/** The transaction in which the authorization of `payment` was used or cancelled, newest blocks first. */
async function findUse(
  network: EvmNetwork,
  height: bigint,
  payment: AuthorizedPayment,
  asset: string,
): Promise<string | undefined> {
  for await (const logs of searchBack(network, height, { address: asset, topics: spentTopics(payment) })) {
    const [use] = logs
    if (use?.transactionHash) return use.transactionHash
  }
  return undefined
}

/**
 * What became of an authorization, whoever used it. One that was used more than 50,000 blocks ago is not looked for any more
 * and counts as void. Behind one URL may be nodes of different height, each question going to another of them: rejects with
 * `ChainUnavailable` where a node that lacks block `seen`, or the event of an authorization that was used only lately, may
 * have been asked.
 */
export async function fate(
  network: EvmNetwork,
  payment: AuthorizedPayment,
  { token: { asset } }: Terms,
  seen: bigint,
): Promise<Fate> {
  const { rpc } = network
  /** By the block's number: a node that lacks the block refuses, where it has a `latest` of its own. */
  async function isUsedAt(block: bigint): Promise<boolean> {
    const data = calls.isAuthorizationUsed(payment)
    const used = answeredWord(await rpc.run(Data, 'eth_call', [{ to: asset, data }, quantity(block)]))
    if (used === undefined) throw new ChainUnavailable(`${asset} does not tell the state of an authorization`)
    return used !== 0n
  }
  const height = await heightSince(network, seen)
  const confirmed = confirmedHeight(network, height)
  if (!(await isUsedAt(height))) return unusedFate(network, payment, confirmed)

  const hash = await findUse(network, height, payment, asset)
  if (hash === undefined) {
    const longAgo = height - BLOCKS_APART < confirmed ? height - BLOCKS_APART : confirmed
    if (longAgo >= 0n && (await isUsedAt(longAgo)))
      return unusable('the authorization was used or cancelled longer ago than anybody looks back')
    throw new ChainUnavailable('The node knows of an authorization used lately, and not of its event')
  }
  const use = await locate(network, hash)
  if (use.status === 'unknown') throw new ChainUnavailable(`The node names ${hash} and does not know it`)
  if (use.status === 'waiting') return { status: 'pending' }
  const { receipt, isConfirmed } = use
  if (receipt.status !== 1n || !holdsUse(receipt.logs, asset, payment))
    throw new ChainUnavailable(
      `The node finds the use of an authorization in ${hash}, which does not hold it`,
    )
  if (!isConfirmed) return { status: 'pending' }
  return holdsTransfer(receipt.logs, asset, payment)
    ? { status: 'settled', hash: receipt.transactionHash, blockNumber: receipt.blockNumber }
    : unusable('the authorization was cancelled, or used for another transfer')
}
