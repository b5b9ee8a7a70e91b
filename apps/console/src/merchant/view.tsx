import './merchant.css'
import { lazy, Suspense } from 'react'
import { useLocation } from 'wouter'
import { Loading } from '../ui/loading'
import { MerchantView } from './merchant-view'

const OperatorView = lazy(async () => ({ default: (await import('../operator/view')).OperatorView }))

export function View() {
  const [location] = useLocation()
  if (location !== '/operator' && !location.startsWith('/operator/')) return <MerchantView />
  return (
    <Suspense fallback={<Loading />}>
      <OperatorView />
    </Suspense>
  )
}
