import { encodeRlp, Transaction, Wallet } from 'ethers'
import { transactionHash } from './transaction-hash'

const wallet = new Wallet(`0x${'1'.repeat(64)}`)
const to = `0x${'22'.repeat(20)}`
const bytesOf = (hex: string) => Buffer.from(hex.slice(2), 'hex')

test.each([
  ['legacy', { type: 0, gasPrice: 1n }],
  ['with an access list', { type: 1, gasPrice: 1n, accessList: [{ address: to, storageKeys: [] }] }],
  ['EIP-1559', { type: 2, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }],
  [
    'EIP-1559 with long data',
    { type: 2, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n, data: `0x${'ab'.repeat(70_000)}` },
  ],
])('%s', async (_, fields) => {
  const raw = await wallet.signTransaction({ to, chainId: 1, nonce: 7, gasLimit: 21_000n, ...fields })
  expect(transactionHash(bytesOf(raw))).toBe(Transaction.from(raw).hash)
})

test('with blobs, sent with or without them', async () => {
  const canonical = await wallet.signTransaction({
    type: 3,
    to,
    chainId: 1,
    nonce: 7,
    gasLimit: 21_000n,
    maxFeePerGas: 2n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 1n,
    blobVersionedHashes: [`0x01${'00'.repeat(31)}`],
  })
  const { hash } = Transaction.from(canonical)
  expect(transactionHash(bytesOf(canonical))).toBe(hash)

  const body = canonical.slice(4)
  const rest = ['0x00', [`0x${'00'.repeat(131_072)}`], [`0x${'00'.repeat(48)}`], [`0x${'00'.repeat(48)}`]]
  for (const parts of [rest.slice(1), rest]) {
    const others = encodeRlp(parts).slice(2)
    const headerLength = headerLengthOf(others)
    const content = body + others.slice(headerLength)
    const length = (content.length / 2).toString(16).padStart(6, '0')
    expect(transactionHash(bytesOf(`0x03fa${length}${content}`))).toBe(hash)
  }
})

/** Counts hex digits. */
function headerLengthOf(list: string): number {
  const first = parseInt(list.slice(0, 2), 16)
  return first <= 0xf7 ? 2 : 2 + 2 * (first - 0xf7)
}
