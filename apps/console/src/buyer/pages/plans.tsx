import { Stack } from '@mantine/core'
import { buyer } from '../../texts'
import { Page } from '../../ui/page'
import { PurchasePanel } from '../purchase/purchase-panel'
import { usePurchase } from '../purchase/use-purchase'
import { PlanList } from './plan-list'

export default function Plans() {
  const { state, buy, dismiss } = usePurchase()
  const isBusy = state?.outcome === 'open' && state.error === undefined
  return (
    <Page title={buyer.plans.title} text={buyer.plans.text}>
      <Stack gap="lg">
        {state && <PurchasePanel purchase={state} retry={() => void buy(state.plan)} dismiss={dismiss} />}
        <PlanList onBuy={(plan) => void buy(plan)} isBusy={isBusy} />
      </Stack>
    </Page>
  )
}
