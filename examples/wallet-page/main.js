import { createTollgate, isTollgateError } from '@tollgate/wallet'

const element = (id) => document.getElementById(id)
const log = (text) => element('log').append(`${text}\n`)

// Any browser wallet. The page asks before each payment, and pays at most one cent at once.
const tollgate = createTollgate({
  url: import.meta.env.VITE_GATEWAY,
  wallet: window.ethereum,
  limits: {
    assets: [{ network: 'eip155:84532', asset: import.meta.env.VITE_ASSET, perPayment: 10_000n }],
    approve: ({ amount, payTo }) => confirm(`Pay ${Number(amount) / 1e6} USDC to ${payTo}?`),
  },
})

tollgate.on('signed-in', ({ address }) => log(`signed in as ${address}`))
tollgate.on('paid', ({ transaction }) => log(`paid in ${transaction}`))
tollgate.on('pending', () => log('the payment is being settled'))

async function run(task) {
  try {
    log(await task())
    const [{ remaining_credits: left } = { remaining_credits: 0 }] = await tollgate.credits()
    element('balance').textContent = `${left} credits left`
  } catch (error) {
    log(isTollgateError(error) ? `${error.message}. ${error.advice}` : String(error))
  }
}

element('call').onclick = () =>
  run(async () => `block ${Number(await tollgate.request('eip155:84532', 'eth_blockNumber'))}`)
element('buy').onclick = () => run(async () => `bought ${(await tollgate.buy()).credits} credits`)
