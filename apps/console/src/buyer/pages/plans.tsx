import { Stack } from '@mantine/core'
import { useState } from 'react'
import { buyer } from '../../texts'
import { Page } from '../../ui/page'
import { isUndecided, keyOf } from '../purchase/purchase'
import { usePurchases } from '../purchase/purchase-context'
import { PurchasePanel } from '../purchase/purchase-panel'
import { useMoment } from '../purchase/use-moment'
import { useWallet } from '../wallets/wallet-context'
import { PlanList } from './plan-list'

export default function Plans() {
  const { connected } = useWallet()
  const { list, buy } = usePurchases()
  const [pressed, setPressed] = useState<string>()
  const { now } = useMoment()
  const undecided = new Set(list.filter((one) => isUndecided(one, now)).map(({ key }) => key))
  return (
    <Page title={buyer.plans.title} text={buyer.plans.text}>
      <Stack gap="lg">
        {list.map((purchase) => (
          <PurchasePanel key={purchase.key} purchase={purchase} isPressed={purchase.key === pressed} />
        ))}
        <PlanList
          onBuy={(plan) => {
            if (!connected) return
            buy(connected, plan)
            setPressed(keyOf(connected.address, plan.id))
          }}
          isBusy={({ id }) => connected !== undefined && undecided.has(keyOf(connected.address, id))}
        />
      </Stack>
    </Page>
  )
}
