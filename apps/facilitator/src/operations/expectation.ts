import { isMismatched, isOver } from '../payments/state'
import { type Shown } from './shown'

/** What happens to a settlement from here on, and what an operator may do, in plain words. */
export function expectationOf(settlement: Shown): string {
  switch (settlement.state) {
    case 'claimed':
      return claimed(settlement)
    case 'signed':
      return onItsWay(settlement)
    case 'reversed':
      return isOver({ status: settlement.state, errorReason: settlement.errorReason })
        ? reversedForGood(settlement)
        : reversed(settlement)
    case 'settled':
      return settled(settlement)
    case 'failed':
      if (isMismatched(settlement)) return mismatched
      return `It is over, and the payer was not charged through it. It is never sent again; the payer may sign a new payment.`
  }
}

const mismatched = `It is over, and its transaction moved something else than the payer signed: the payer was charged, and its client was told so with the transaction. The asset is suspended; see "facilitator assets suspended". Settle the matter with the client: nothing is sent again.`

function claimed({ attempts, problem, handedOutAt }: Shown): string {
  if (handedOutAt) return reversedAndFree
  const why = problem === null ? '' : ' The problem above is what it waits for.'
  if (attempts === 0)
    return `It waits to be signed, which takes a moment while a facilitator owns a signer of its network.${why} Nothing was sent for it. "retry" has it looked at again at once.`
  return `What was sent for it came to nothing, but its authorization is known and may be used until it lapses.${why} It is sent again by itself, alone, unless three transactions for payments of its payer in this asset were mined in vain within a day: then it waits for the day to pass, or until it lapses, is cancelled or is settled by somebody else. "retry" sends it once more, if it would still go through.`
}

const reversedAndFree = `Its client was told that it succeeded; then a reorg dropped it, and its transaction came to nothing. It is sent again by itself, as one that failed once. "retry" has it looked at again at once.`

function onItsWay({ transaction }: Shown): string {
  switch (transaction?.state) {
    case 'mined':
    case 'final':
      return `Its transaction is mined and waits for confirmations, or for what is to be written down of it. There is nothing to do.`
    case 'lost':
      return `Another transaction took the nonce of its own. The facilitator asks the chain what became of the payment, and sends it again if it is still open.`
    case undefined:
    case 'signed':
      if (transaction?.nonce === null)
        return `The payer's own transaction waits to be mined and confirmed. It is sent again as it is, and never with other fees. There is nothing to do but to wait: it is not failed while it may still be mined.`
      return transaction?.broadcastAt
        ? `Its transaction waits to be mined and confirmed. It is sent again where the node does not know it. While the key of its signer is configured, it gets higher fees under the same nonce once it needs them, up to the network's max_fee_per_gas, and "retry" raises them at once.`
        : `Its transaction is stored, and no node has taken it yet, as far as is known. The same one is sent again until one does. Look at the node and at the signer's balance.`
  }
}

const told = ({ handedOutAt }: Shown) =>
  handedOutAt
    ? 'Its client was told that it succeeded.'
    : 'Nobody was told that it succeeded: its client still asks, or will.'

function settled(settlement: Shown): string {
  const isWatched = settlement.transaction?.state === 'mined'
  const watch = isWatched ? ' Its block is still watched, in case a reorg drops it.' : ''
  return `It is over, and paid. ${told(settlement)}${watch} There is nothing to do.`
}

function reversed(settlement: Shown): string {
  const isPayersOwn = settlement.transaction?.nonce === null
  const fees = isPayersOwn
    ? 'It is its payer’s own, and never sent with other fees.'
    : 'While the key of its signer is configured, "retry" raises the fees at once.'
  return `A reorg dropped it after it had counted. The same transaction is sent again, and it ends as settled, or stays reversed if it can never be settled any more. ${told(settlement)} ${fees}`
}

const reversedForGood = (settlement: Shown) =>
  `It is over: a reorg dropped it, and nobody can settle it any more. The payer keeps the money. ${told(settlement)} Whoever delivered for it was not paid, and wants to know.`
