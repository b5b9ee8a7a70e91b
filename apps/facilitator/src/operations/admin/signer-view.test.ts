import { type OperatorOverview, type OperatorSigner } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN } from '../../testing/accounts'
import { callRpc, newSigner, sharedChain } from '../../testing/chain'
import { testFacilitator, type TestFacilitator, type TestOptions } from '../../testing/facilitator'
import { untilRead } from '../../testing/operator-api'
import { settlementRows } from '../../testing/settlement-rows'

afterAll(closeAll)

const rpcUrl = sharedChain()
const WARN_BELOW = 10n ** 16n

const started = (options: TestOptions = {}) => testFacilitator({ ...options, variables: { ADMIN_TOKEN } })

type Signers = { replica: string; signers: OperatorSigner[]; error: string | null }
/** Once balances are read and a replica leads every configured signer. */
const ledSigners = (facilitator: TestFacilitator) =>
  untilRead<Signers>(facilitator, 'signers', ({ signers, error }) => {
    const configured = signers.filter(({ isConfigured }) => isConfigured)
    return error === null && configured.every(({ leader, balance }) => leader !== null && balance !== null)
  })

const untilLeader = (facilitator: TestFacilitator, leader: string | null) =>
  untilRead<Signers>(
    facilitator,
    'signers',
    ({ signers, error }) => error === null && signers.every((signer) => signer.leader === leader),
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
  await untilRead<OperatorOverview>(
    facilitator,
    'overview',
    ({ signers: { total, low, unknown, withoutLeader } }) =>
      [total, low, unknown, withoutLeader].join() === '2,1,0,0',
  )
})

test('a signer whose nodes do not answer has an error, and the others are shown', async () => {
  const dark = {
    name: 'dark',
    chainId: '1',
    rpcUrls: ['http://127.0.0.1:1/secret'],
    signerKeys: [`0x${'5'.repeat(64)}`],
  }
  const facilitator = await started({ networks: [dark] })
  const { signers } = await untilRead<Signers>(
    facilitator,
    'signers',
    ({ signers: [lit, unlit] }) =>
      lit?.error === null && /^balance of 0x\w+ on dark could not be read; the log/.test(unlit?.error ?? ''),
  )
  expect(signers).toMatchObject([
    { network: 'base-sepolia', isLow: false },
    { network: 'dark', balance: null, isLow: null },
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
  await untilLeader(second, seen.replica)
  await untilLeader(first, seen.replica)
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
    await untilLeader(facilitator, 'unknown')
  } finally {
    older.release(true)
  }
  await untilLeader(facilitator, null)
})
