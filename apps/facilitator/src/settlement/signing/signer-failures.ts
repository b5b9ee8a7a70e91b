import { SignerUnavailable } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type SettlementMetrics } from '../metrics'

/** Logs and counts the error if it is that of a remote signer, and throws it again. */
export const createSignerFailureReporter =
  (parts: { network: string; signer: string; metrics: SettlementMetrics; logger: Logger }) =>
  (error: unknown): never => {
    if (error instanceof SignerUnavailable) {
      const { network, signer, metrics, logger } = parts
      const { failure } = error
      metrics.signerFailed({ network, signer, failure })
      logger.warn('remote signature failed', { failure, error })
    }
    throw error
  }
