import { createTollgate } from '@tollgate/wallet'
import { fileStorage } from '@tollgate/wallet/file-storage'
import { tollgateProvider } from '@tollgate/wallet/ethers'
import { Wallet, formatEther } from 'ethers'

const { GATEWAY, PRIVATE_KEY, ASSET } = process.env
const tollgate = createTollgate({
  url: GATEWAY,
  wallet: new Wallet(PRIVATE_KEY),
  // At most one cent for one payment, and ten cents a day.
  limits: { assets: [{ network: 'eip155:84532', asset: ASSET, perPayment: 10_000n, perDay: 100_000n }] },
  storage: fileStorage('.wallet'),
})
tollgate.on('paid', ({ amount, transaction }) => console.log(`paid ${amount} in ${transaction}`))

console.log('block', Number(await tollgate.request('eip155:84532', 'eth_blockNumber')))

const provider = tollgateProvider(tollgate, 84532)
console.log('balance', formatEther(await provider.getBalance(await tollgate.address())))
provider.destroy()

for (const { pricing_plan_id: plan, remaining_credits: left } of await tollgate.credits())
  console.log(`${left} credits left on plan ${plan}`)
