/**
 * Loaded with `node --require` before the gateway: the same sign-in, whose signature is verified by ethers.
 */
import { families } from '@tollgate/chains'
import { verifyMessage } from 'ethers'

const { evm } = families
if (!evm) throw new Error('The gateway has no EVM family')
evm.verifySignIn = ({ message, address, signature }) =>
  verifyMessage(message, signature).toLowerCase() === address.toLowerCase()
