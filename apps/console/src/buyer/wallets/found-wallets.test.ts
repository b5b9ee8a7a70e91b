import { evmWallet, findCosmosWallets } from './found-wallets'

const provider = { request: () => Promise.resolve([]) }
const info = { uuid: '1', rdns: 'example.wallet', name: 'Wallet', icon: 'data:image/svg+xml,' }

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text', 'wallet'],
  ['no info', { provider }],
  ['no provider', { info }],
  ['a provider without request', { info, provider: {} }],
  ['no uuid', { info: { ...info, uuid: undefined }, provider }],
])('an announcement with %s is no wallet', (_name, detail) => {
  expect(evmWallet(detail)).toBeUndefined()
})

test.each<[string, object, string]>([
  ['its name', {}, 'Wallet'],
  ['its domain, without one', { name: '  ' }, 'example.wallet'],
  ['words, without either', { name: undefined, rdns: undefined }, 'A wallet without a name'],
])('a wallet is shown by %s', (_name, changes, name) => {
  expect(evmWallet({ info: { ...info, ...changes }, provider })).toMatchObject({ id: '1', name })
})

test('two wallets of one domain are two', () => {
  const ids = ['1', '2'].map((uuid) => evmWallet({ info: { ...info, uuid }, provider })?.id)
  expect(ids).toEqual(['1', '2'])
})

test('an icon of another host is not loaded', () => {
  expect(evmWallet({ info: { ...info, icon: 'https://example.com/x.png' }, provider })).not.toHaveProperty(
    'icon',
  )
})

test('signs for the address that was connected, and for no other one', async () => {
  const asked: string[] = []
  const changing = {
    request({ method }: { method: string }) {
      asked.push(method)
      return Promise.resolve(asked.length === 1 ? ['0xA'] : ['0xB'])
    },
  }
  const wallet = await evmWallet({ info, provider: changing })?.connect({
    chainId: undefined,
    isSilent: false,
  })
  const onSigned = jest.fn()
  type Signer = { request(call: { method: string }): Promise<unknown> }
  const signer = wallet?.signer({ onSigned, isSilent: false }) as Signer
  expect(await signer.request({ method: 'eth_requestAccounts' })).toEqual(['0xA'])
  await signer.request({ method: 'personal_sign' })
  expect(onSigned).not.toHaveBeenCalled()
  await signer.request({ method: 'eth_signTypedData_v4' })
  expect(onSigned).toHaveBeenCalledTimes(1)

  const silent = wallet?.signer({ onSigned, isSilent: true }) as Signer
  await expect(silent.request({ method: 'personal_sign' })).rejects.toThrow('only when you press')
  expect(asked).toEqual(['eth_requestAccounts', 'personal_sign', 'eth_signTypedData_v4'])
})

test.each(['keplr', 'leap'])('%s is asked to keep the fee of a payment', async (name) => {
  const account = { address: 'cosmos1', algo: 'secp256k1', pubkey: new Uint8Array(33) }
  const asked: unknown[] = []
  const extension = {
    enable: () => Promise.resolve(),
    getOfflineSigner(...given: unknown[]) {
      asked.push(given)
      return { getAccounts: () => Promise.resolve([account]) }
    },
  }
  Object.assign(globalThis, { window: { [name]: extension } })
  try {
    const [wallet] = findCosmosWallets()
    await wallet?.connect({ chainId: 'cosmoshub-4', isSilent: false })
  } finally {
    Reflect.deleteProperty(globalThis, 'window')
  }
  expect(asked).toEqual([['cosmoshub-4', { preferNoSetFee: true }]])
})
