import {
  DeniedAddressesQuery,
  DeniedAddressPath,
  DenyAddressRequest,
  type DeniedAddress as WireAddress,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { canonicalAddress } from '../networks/canonical-address'
import { type Families } from '../networks/network'
import { type DeniedAddress, type DeniedAddressStore } from './store'

export function createDeniedAddressHandlers(denied: DeniedAddressStore, families: Families) {
  function addressIn(text: string): string {
    const address = canonicalAddress(families, text)
    if (address !== undefined) return address
    throw new ApiError('INVALID_REQUEST', 'address: is not an address of any chain family')
  }

  return {
    async add(req: Request, res: Response) {
      const { address, note = null } = parse(DenyAddressRequest, req.body)
      const added = await denied.add(addressIn(address), note)
      res.json({ data: toWire(added) })
      return { address: added.address }
    },

    async list(req: Request, res: Response) {
      res.json({ data: (await denied.list(parse(DeniedAddressesQuery, req.query))).map(toWire) })
    },

    async remove(req: Request, res: Response) {
      const address = addressIn(parse(DeniedAddressPath, req.params).address)
      if (!(await denied.remove(address)))
        throw new ApiError(
          'NOT_FOUND',
          'This address is not denied; GET /admin/denied-addresses lists those that are',
        )
      res.json({ data: { deleted: address } })
      return { address }
    },
  }
}

const toWire = ({ createdAt, ...denied }: DeniedAddress): WireAddress => ({
  ...denied,
  createdAt: createdAt.toISOString(),
})
