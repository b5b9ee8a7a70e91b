import { z } from 'zod'
import { uintWord } from './abi'
import { Data, Hash, hex, quantity } from './answers'
import { calls } from './eip3009'
import type { Rpc } from './rpc'
import type { Storage } from './simulation'
import { READ_GAS } from './token'

const AccessList = z.object({
  accessList: z.array(z.object({ address: hex(/^0x[0-9a-f]{40}$/i), storageKeys: z.array(Hash) })),
})

/** Tokens read a handful: their proxy's implementation, a switch or two, the balance. */
const MAX_WORDS = 32

/** Where in its word a balance begins, in bits: alone or above flags, behind a `bool`, half a word, an address. */
const SHIFTS = [0n, 8n, 64n, 96n, 128n, 160n]

/**
 * Storage with which `holder`, whom the token has never seen, has exactly `amount`: each word that `balanceOf` reads is
 * tried, wherever it lies. Undefined where the token keeps balances otherwise. Rejects where a node refuses to try.
 */
export async function endow(
  rpc: Rpc,
  { asset, holder, amount, from }: { asset: string; holder: string; amount: bigint; from: string },
): Promise<Storage | undefined> {
  const question = { from, to: asset, data: calls.balance({ payer: holder }), gas: quantity(READ_GAS) }
  const touched = await rpc.run(AccessList, 'eth_createAccessList', [question, 'latest'])
  if ('reverted' in touched) return undefined
  const words = touched.value.accessList
    .flatMap(({ address, storageKeys }) => storageKeys.map((slot) => ({ address, slot })))
    .slice(0, MAX_WORDS)

  for (const shift of SHIFTS) {
    const candidates = words.map(({ address, slot }): Storage => ({
      [address]: { stateDiff: { [slot]: `0x${uintWord(BigInt.asUintN(256, amount << shift))}` } },
    }))
    const balances = await Promise.all(
      candidates.map((storage) => rpc.run(Data, 'eth_call', [question, 'latest', storage])),
    )
    const found = balances.findIndex((told) => 'value' in told && told.value === `0x${uintWord(amount)}`)
    if (found !== -1) return candidates[found]
  }
  return undefined
}
