import { id, Wallet } from 'ethers'
import { addressTopic, uintWord } from '../../abi'
import { type Receipt } from '../../rpc-schemas'
import { signTransfer, permitted } from '../../testing/permit2'
import { PROXY } from './contracts'
import { type PermittedPayment } from './payment'
import { holdsOtherTransfer, holdsTransfer } from './transfer'

const asset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const settled = { address: PROXY.toLowerCase(), topics: [id('Settled()')], data: '0x' }
const moved = (payer: string, payTo: string, amount: bigint) => ({
  address: asset.toLowerCase(),
  topics: [id('Transfer(address,address,uint256)'), addressTopic(payer), addressTopic(payTo)],
  data: `0x${uintWord(amount)}`,
})

describe('a transaction that was sent for one payment by Permit2', () => {
  const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
  const stranger = Wallet.createRandom().address
  let payment: PermittedPayment
  let exact: ReturnType<typeof moved>

  beforeAll(async () => {
    payment = permitted(await signTransfer(Wallet.createRandom(), { payTo, amount: 10_000n }))
    exact = moved(payment.payer, payTo, 10_000n)
  })

  const read = (...logs: ReturnType<typeof moved>[]) => {
    const receipt = { logs } as unknown as Receipt
    const other = holdsOtherTransfer(receipt, asset, payment)
    return { settles: holdsTransfer(receipt, asset, payment), differs: other }
  }

  test('settles it where the proxy settled once and the token moved exactly the amount', () => {
    expect(read(settled, exact).settles).toBe(true)
    expect(read(exact).settles).toBe(false)
    expect(read(settled).settles).toBe(false)
    expect(read(settled, settled, exact).settles).toBe(false)
    expect(read(settled, { ...exact, address: PROXY.toLowerCase() }).settles).toBe(false)
  })

  test('settles it also where a hook of its payer moves more, which must not suspend the token', () => {
    expect(read(exact, settled, exact).settles).toBe(true)
    expect(read(exact, settled, moved(payment.payer, stranger, 1n)).settles).toBe(true)
  })

  test('differs where the token moved something else of its payer’s', () => {
    const short = moved(payment.payer, payTo, 9_900n)
    expect(read(settled, short)).toEqual({ settles: false, differs: true })
    expect(read(settled, moved(stranger, payTo, 10_000n))).toEqual({ settles: false, differs: false })
  })
})
