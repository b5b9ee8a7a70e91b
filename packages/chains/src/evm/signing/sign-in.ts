import { keccak256 } from '../../keccak'
import { ChainUnavailable } from '../../errors'
import { type Nodes, type SignInProof } from '../../family'
import { Data, quantity } from '../rpc-schemas'
import { askContract, vouches } from './eip1271'
import { createRpc } from '../rpc'
import { canonicalSignature, recoverSigner } from './signature'
import { isWrapper, readSignature } from './wrapped-signature'

function personalDigest(message: string): Uint8Array {
  const text = Buffer.from(message, 'utf8')
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`, 'utf8')
  return Buffer.from(keccak256(Buffer.concat([prefix, text])).slice(2), 'hex')
}

/** Some signers leave the prefix out. */
const prefixed = (signature: string): string =>
  /^[0-9a-f]+$/i.test(signature) ? `0x${signature}` : signature

/** Verifies personal_sign (EIP-191) of an account with a key, in every form that `canonicalSignature` takes. */
export function verifySignIn({ message, address, signature }: SignInProof): boolean {
  const canonical = canonicalSignature(prefixed(signature))
  return (
    canonical !== undefined && recoverSigner(personalDigest(message), canonical) === address.toLowerCase()
  )
}

/** Enough to verify a passkey's signature in EVM code, and cheap for the node. */
const MAX_GAS = 2_000_000n
/** Empty for a contract that stored on chain what it signs, such as a Safe. */
const bytes = /^0x(?:[0-9a-f]{2})*$/i

/**
 * Whether the contract at `address` accepts the signature of the EIP-191 message (EIP-1271). Queries every node, and a
 * single no refuses, so that one honest node suffices against nodes that accept everything. A wrapped signature (ERC-6492) is
 * unwrapped; its factory is never called, so a wallet that is not deployed accepts nothing.
 */
export async function verifyContractSignIn(
  { message, address, ...proof }: SignInProof,
  nodes: Nodes,
): Promise<boolean> {
  const { signature } = readSignature(prefixed(proof.signature).toLowerCase())
  if (!bytes.test(signature) || isWrapper(signature)) return false
  const call = { to: address, data: askContract(personalDigest(message), signature), gas: quantity(MAX_GAS) }
  const verdicts = await Promise.allSettled(
    nodes.rpcUrls.map((url, index) =>
      vouchedAt({ ...nodes, rpcUrls: [url], rpcHeaders: [nodes.rpcHeaders?.[index] ?? {}] }, call),
    ),
  )
  const given = verdicts.filter((verdict) => verdict.status === 'fulfilled')
  if (given.length > 0) return given.every(({ value }) => value)
  throw new ChainUnavailable(
    `${nodes.name}: none of ${verdicts.length} nodes says whether a contract vouches`,
    {
      cause: verdicts.find((verdict) => verdict.status === 'rejected')?.reason,
    },
  )
}

async function vouchedAt(node: Nodes, call: object): Promise<boolean> {
  const rpc = createRpc(node)
  try {
    return vouches(await rpc.run(Data, 'eth_call', [call, 'latest']))
  } finally {
    rpc.close()
  }
}
