import { type OperatorOverview, type OperatorSigner } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin } from '../../testing/accounts'
import { callRpc, newSigner, sharedChain } from '../../testing/chain'
import { testFacilitator, type TestFacilitator, type TestOptions } from '../../testing/facilitator'
import { until } from '../../testing/metrics'
import { settlementRows } from '../../testing/settlement-rows'

afterAll(closeAll)

const rpcUrl = sharedChain()
const WARN_BELOW = 10n ** 16n

const started = (options: TestOptions = {}) => testFacilitator({ ...options, variables: { ADMIN_TOKEN } })

async function read<T>({ api }: TestFacilitator, path: string): Promise<T> {
  return ((await api.get(`/admin/${path}`).set(asAdmin).expect(200)).body as { data: T }).data
}
type Signers = { replica: string; signers: OperatorSigner[]; error: string | null }
const signersOf = (facilitator: TestFacilitator) => read<Signers>(facilitator, 'signers')

/** Once a replica leads every configured signer. */
const ledSigners = (facilitator: TestFacilitator) =>
  until(
    () => signersOf(facilitator),
    ({ signers }) => signers.every(({ leader, isConfigured }) => leader !== null || !isConfigured),
  )

const setBalance = (address: string, wei: bigint) =>
  callRpc(rpcUrl, 'anvil_setBalance', address, `0x${wei.toString(16)}`)

test('shows balance, threshold, leader and pending transactions, also of a removed signer', async () => {
  const [rich, poor, removed] = [await newSigner(rpcUrl), await newSigner(rpcUrl), await newSigner(rpcUrl)]
  await setBalance(poor.address, WARN_BELOW - 1n)
  const facilitator = await started({ signerKeys: [rich.privateKey, poor.privateKey] })
  const rows = settlementRows(facilitator.database.pool)
  for (const [signer, nonce] of [
    [removed.address, 3n],
    [removed.address, 4n],
    [removed.address, null],
  ] as const)
    await rows.transaction({ signer, nonce })

  const { signers, replica, error } = await ledSigners(facilitator)
  const common = {
    network: 'base-sepolia',
    threshold: WARN_BELOW.toString(),
    isConfigured: true,
    pendingTransactions: 0,
    leader: replica,
    nativeSymbol: null,
    nativeDecimals: 18,
    error: null,
  }
  expect(error).toBeNull()
  expect(signers).toEqual([
    { ...common, address: rich.address, balance: (10n ** 19n).toString(), isLow: false },
    { ...common, address: poor.address, balance: (WARN_BELOW - 1n).toString(), isLow: true },
    {
      network: 'base-sepolia',
      address: removed.address,
      isConfigured: false,
      balance: null,
      threshold: null,
      isLow: null,
      pendingTransactions: 2,
      leader: null,
      nativeSymbol: null,
      nativeDecimals: null,
      error: null,
    },
  ])
  expect((await read<OperatorOverview>(facilitator, 'overview')).signers).toEqual({
    total: 2,
    low: 1,
    unknown: 0,
    withoutLeader: 0,
    error: null,
  })
})

test('a signer whose nodes do not answer has an error, and the others are shown', async () => {
  const dark = {
    name: 'dark',
    chainId: '1',
    rpcUrls: ['http://127.0.0.1:1/secret'],
    signerKeys: [`0x${'5'.repeat(64)}`],
  }
  const facilitator = await started({ networks: [dark] })
  const { signers } = await signersOf(facilitator)
  expect(signers).toMatchObject([
    { network: 'base-sepolia', isLow: false, error: null },
    {
      network: 'dark',
      balance: null,
      isLow: null,
      error: expect.stringMatching(/^balance of 0x\w+ on dark could not be read; the log/) as string,
    },
  ])
  expect(JSON.stringify(signers)).not.toContain('secret')
})

test('every replica names the one that leads, and the next one once it is gone', async () => {
  const first = await started()
  const { replica } = await ledSigners(first)
  const second = await testFacilitator(first.settings)
  const seen = await ledSigners(second)
  expect(seen.replica).not.toBe(replica)
  expect(seen.signers).toMatchObject([{ leader: replica }])

  await Promise.all(first.settlers.map((settler) => settler.close()))
  const wanted = ({ signers }: Signers) => signers.every(({ leader }) => leader === seen.replica)
  await until(() => signersOf(second), wanted)
  await until(() => signersOf(first), wanted)
})

test('a leader of a release without names is unknown', async () => {
  const facilitator = await started()
  const { signers } = await ledSigners(facilitator)
  await Promise.all(facilitator.settlers.map((settler) => settler.close()))
  const older = await facilitator.database.pool.connect()
  try {
    await older.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [
      `settler eip155:84532 ${signers[0]!.address}`,
    ])
    await until(
      () => signersOf(facilitator),
      ({ signers: [signer] }) => signer?.leader === 'unknown',
    )
  } finally {
    older.release(true)
  }
  await until(
    () => signersOf(facilitator),
    ({ signers: [signer] }) => signer?.leader === null,
  )
})
