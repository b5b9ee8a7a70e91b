import { changeChain } from './change-chain'

const chain = { id: '84532', name: 'base-sepolia', rpcUrl: 'https://gateway.example/v1/base-sepolia' }
const errorOf = (code: number, more: object = {}) => Object.assign(new Error('No'), { code, ...more })

/** A wallet whose answers come in this order; `null` is a success. */
function walletOf(...answers: (Error | null)[]) {
  const asked: { method: string; params: unknown[] }[] = []
  const request = (call: { method: string; params: unknown[] }) => {
    asked.push(call)
    const answer = answers[asked.length - 1] ?? null
    return answer ? Promise.reject(answer) : Promise.resolve(answer)
  }
  return { asked, request }
}

test.each<[string, Error]>([
  ['its code', errorOf(4902)],
  ['the code of the error within', errorOf(-32603, { data: { originalError: { code: 4902 } } })],
  ['its message', new Error('Unrecognized chain ID "0x14a34".')],
])('adds a chain that the wallet does not know, by %s, and changes to it', async (_name, unknown) => {
  const { asked, request } = walletOf(unknown)
  await changeChain(request, chain)
  expect(asked).toEqual([
    { method: 'wallet_switchEthereumChain', params: [{ chainId: '0x14a34' }] },
    {
      method: 'wallet_addEthereumChain',
      params: [
        {
          chainId: '0x14a34',
          chainName: 'base-sepolia',
          rpcUrls: ['https://gateway.example/v1/base-sepolia'],
          nativeCurrency: { name: 'ETH', symbol: 'ETH', decimals: 18 },
        },
      ],
    },
    { method: 'wallet_switchEthereumChain', params: [{ chainId: '0x14a34' }] },
  ])
})

test.each<[string, (Error | null)[], string, number]>([
  ['the change is declined', [errorOf(4001)], 'You did not let your wallet change to base-sepolia', 1],
  ['the chain is not added', [errorOf(4902), errorOf(4001)], 'You did not let your wallet change', 2],
  ['the wallet cannot', [errorOf(4200)], 'Your wallet could not change to base-sepolia', 1],
])('names the network if %s', async (_name, answers, text, count) => {
  const { asked, request } = walletOf(...answers)
  const error: unknown = await changeChain(request, chain).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'NETWORK_NOT_CHANGED' })
  expect(String(error)).toContain(text)
  expect(asked).toHaveLength(count)
})
