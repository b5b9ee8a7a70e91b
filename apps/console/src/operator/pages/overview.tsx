import { Anchor, Card, SimpleGrid, Stack, Text } from '@mantine/core'
import { type OperatorOverview } from '@tollgate/protocol'
import { Link } from 'wouter'
import { operator } from '../../texts'
import { readableNumber } from '../../ui/format'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { useAdminData } from '../admin'

const texts = operator.overview

type Figure = { label: string; value: number | null; isBad: boolean; href: string; error: string | null }

/** A figure is bad if someone has to act on it. */
const figuresOf = ({ settlements, lastDay, signers, assets, nodes }: OperatorOverview): Figure[] => [
  figure(
    texts.stuck(settlements.stuck ?? 0),
    settlements.stuck,
    '/operator/settlements?state=stuck',
    settlements.error,
  ),
  figure(
    texts.reversed(settlements.reversedFinal ?? 0),
    settlements.reversedFinal,
    '/operator/settlements?state=reversed-final',
    settlements.error,
  ),
  figure(texts.lowSigners(signers.low ?? 0), signers.low, '/operator/signers', signers.error),
  figure(
    texts.leaderless(signers.withoutLeader ?? 0),
    signers.withoutLeader,
    '/operator/signers',
    signers.error,
  ),
  figure(texts.failingNodes(nodes.failing ?? 0), nodes.failing, '/operator/networks', nodes.error),
  figure(texts.suspended(assets.suspended ?? 0), assets.suspended, '/operator/assets', assets.error),
  {
    ...figure(
      texts.open(settlements.open ?? 0),
      settlements.open,
      '/operator/settlements',
      settlements.error,
    ),
    isBad: false,
  },
  { ...figure(texts.settled, lastDay.settled, endedInDay('settled'), lastDay.error), isBad: false },
  { ...figure(texts.failed, lastDay.failed, endedInDay('failed'), lastDay.error), isBad: false },
]

const endedInDay = (state: 'settled' | 'failed') => `/operator/settlements?state=${state}&endedWithinHours=24`

const figure = (label: string, value: number | null, href: string, error: string | null): Figure => ({
  label,
  value,
  isBad: (value ?? 0) > 0,
  href,
  error,
})

export function Overview() {
  const overview = useAdminData<OperatorOverview>('/overview')
  return (
    <Page title={texts.title} text={texts.text}>
      <Loaded query={overview}>
        {(found) => (
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
              {figuresOf(found).map((one) => (
                <FigureCard key={one.label} figure={one} />
              ))}
            </SimpleGrid>
            <Text size="sm" c="dimmed">
              {texts.replica(found.replica)}
            </Text>
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

const FigureCard = ({ figure: { label, value, isBad, href, error } }: { figure: Figure }) => (
  <Card withBorder padding="md" className={isBad ? 'figure-bad' : undefined}>
    <Text fz={30} fw={700} className="amount">
      {value === null ? '?' : readableNumber(value)}
    </Text>
    <Anchor component={Link} href={href}>
      {label}
    </Anchor>
    {isBad && <Text size="sm">{texts.act}</Text>}
    {error !== null && <Text size="sm">{error}</Text>}
  </Card>
)
