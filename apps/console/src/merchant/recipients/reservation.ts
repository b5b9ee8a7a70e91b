import { type Recipient, type RecipientChallenge } from '@tollgate/protocol'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { type SignedText } from '../../buyer/wallets/found-wallets'
import { merchant } from '../../texts'
import { shortened } from '../../ui/format'
import { ask } from '../api'
import { RECIPIENTS } from './use-recipients'

export type Challenge = RecipientChallenge['data']

/** A text that names the account, the address and the network; valid once. `network`: CAIP-2. */
export const askForText = (network: string, address: string) =>
  ask<Challenge>('POST', '/recipients/challenge', { body: { network, address } })

/** Reserves the address of a text with its signature, and leads to the list. */
export function useReserve() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return async ({ nonce }: Challenge, signed: SignedText) => {
    const { address } = await ask<Recipient>('POST', '/recipients', { body: { nonce, ...signed } })
    notifications.show({ message: merchant.recipients.reserved(shortened(address)) })
    await queries.resetQueries({ queryKey: RECIPIENTS })
    navigate('/recipients')
  }
}
