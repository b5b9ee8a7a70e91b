import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import { type PaymentInfo } from './payment-info'

/** Returns the document as JSON, with `x-payment-info` on each operation that may answer 402. Made again only for other prices. */
export function createPricedDocument(document: OpenApiDocument) {
  const paid = operationsOf(document).filter(({ operation }) => '402' in operation.responses)
  let latest = { prices: '', json: JSON.stringify(document) }

  return (info: PaymentInfo | undefined): string => {
    const prices = info ? JSON.stringify(info) : ''
    if (prices !== latest.prices) latest = { prices, json: JSON.stringify(withPaymentInfo(info)) }
    return latest.json
  }

  function withPaymentInfo(info: PaymentInfo | undefined) {
    const paths: Record<string, Record<string, object>> = { ...document.paths }
    if (info)
      for (const { path, method, operation } of paid)
        paths[path] = { ...paths[path], [method]: { ...operation, 'x-payment-info': info } }
    return { ...document, paths }
  }
}
