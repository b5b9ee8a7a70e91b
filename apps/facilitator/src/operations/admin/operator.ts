import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Families } from '../../networks/network'
import { type Networks } from '../../networks/networks'
import { type DefaultShares } from '../../settlement/signing/fee-allowance'
import { type FeeShareStore } from '../../settlement/signing/fee-share-store'
import { createAccountStore } from '../accounts/operator-account-store'
import { createOperatorAssetStore } from '../assets/operator-asset-store'
import { createFeeReport } from '../fees/fee-report'
import { createOperatorStore } from '../settlements/operator-settlement-store'
import { createSettlementPages } from '../settlements/settlement-pages'
import { createSettlementSearch } from '../settlements/settlement-search'
import { createOperatorAssetHandlers } from './asset-handlers'
import { createFeeView } from './fee-view'
import { createNetworkView } from './network-view'
import { createOverview } from './overview'
import { createOperatorSettlementHandlers } from './settlement-handlers'
import { createSignerView } from './signer-view'
import { createOperatorUserHandlers } from './user-handlers'

/** What an operator sees and does with the admin token. `replica` names this process. */
export function createOperatorHandlers(parts: {
  replica: string
  pool: Pool
  networks: Networks
  families: Families
  feeShares: FeeShareStore
  shares: DefaultShares
  logger: Logger
  now: () => Date
}) {
  const { replica, pool, networks, families, feeShares, shares, logger, now } = parts
  const readNetworks = createNetworkView({ networks, logger, now })
  const readSigners = createSignerView({ networks: networks.all, pool, logger })
  const readFees = createFeeView({
    networks: networks.all,
    readFees: createFeeReport({ pool, store: feeShares, shares }),
    logger,
  })
  const readOverview = createOverview({ pool, readNetworks, readSigners, logger })

  return {
    async overview(_req: Request, res: Response) {
      res.json({ data: { replica, ...(await readOverview()) } })
    },
    async networks(_req: Request, res: Response) {
      res.json({ data: { replica, networks: await readNetworks() } })
    },
    async signers(_req: Request, res: Response) {
      res.json({ data: { replica, ...(await readSigners()) } })
    },
    async fees(_req: Request, res: Response) {
      res.json({ data: { networks: await readFees() } })
    },
    settlements: createOperatorSettlementHandlers({
      pages: createSettlementPages(pool),
      search: createSettlementSearch(pool),
      settlements: createOperatorStore(pool),
      networks,
      families,
    }),
    assets: createOperatorAssetHandlers({ assets: createOperatorAssetStore(pool), networks }),
    users: createOperatorUserHandlers(createAccountStore(pool)),
  }
}
