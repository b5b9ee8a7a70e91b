import './merchant.css'
import { useLocation } from 'wouter'
import { onDemand } from '../ui/on-demand'
import { MerchantView } from './merchant-view'

const OperatorView = onDemand('operator', () => import('../operator/view'))

export function View() {
  const [location] = useLocation()
  const isOperator = location === '/operator' || location.startsWith('/operator/')
  return isOperator ? <OperatorView /> : <MerchantView />
}
