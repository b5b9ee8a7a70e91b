import { SegmentedControl } from '@mantine/core'
import { useLocation, useSearch } from 'wouter'
import { merchant } from '../../texts'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Figures } from './figures'
import { FailuresByReason } from './failures-by-reason'
import { FirstSteps } from './first-steps'
import { Income } from './income'
import { LatestSettlements } from './latest-settlements'
import { TotalsByAsset } from './totals-by-asset'
import { useDailyMetrics } from './use-metrics'

const texts = merchant.overview
const RANGES = [7, 30, 90, 365]
const DEFAULT_DAYS = 30

export function Overview() {
  const [, navigate] = useLocation()
  const wanted = Number(new URLSearchParams(useSearch()).get('days'))
  const days = RANGES.includes(wanted) ? wanted : DEFAULT_DAYS
  const metrics = useDailyMetrics(days)
  return (
    <Page
      title={merchant.pages.overview}
      text={texts.text}
      actions={
        <SegmentedControl
          aria-label={texts.range}
          value={String(days)}
          onChange={(value) => navigate(`/?days=${value}`, { replace: true })}
          data={RANGES.map((range) => ({ value: String(range), label: texts.ranges[range as 7] }))}
        />
      }
    >
      <FirstSteps />
      <Loaded query={metrics} lines={10}>
        {(found) => (
          <>
            <Figures metrics={found} />
            <Income metrics={found} days={days} />
            <TotalsByAsset metrics={found} />
            <FailuresByReason metrics={found} />
          </>
        )}
      </Loaded>
      <LatestSettlements />
    </Page>
  )
}
