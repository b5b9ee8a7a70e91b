import { type Retry } from '../settlements/operator-settlement-store'
import { retryOutcome } from '../settlements/retry-outcome'
import { columns, shortened } from './format'

export const retryText = (retries: readonly Retry[]) =>
  columns(retries.map((retry) => [retry.id.toString(), retry.state ?? '-', outcomeText(retry)]))

function outcomeText(retry: Retry): string {
  const signer = retry.signer === null ? 'its signer' : shortened(retry.signer)
  const { code, text } = retryOutcome(retry, signer)
  return `${code === 'retried' ? 'retried' : 'refused'}: ${text}`
}
