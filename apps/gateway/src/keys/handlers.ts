import { AccessKeyPath, NewAccessKey, type CreatedAccessKey } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Session, type Sessions } from '../auth/sessions'
import { type Catalog } from '../catalog/catalog'
import { type AccessKeyStore } from './store'

export function createKeyHandlers(parts: {
  keys: AccessKeyStore
  sessions: Pick<Sessions, 'assertSessionActive'>
  catalog: Pick<Catalog, 'readChains'>
  publicUrl: string
  now: () => Date
}) {
  const { keys, sessions, catalog, publicUrl, now } = parts

  /** @throws ApiError INVALID_REQUEST for a chain that no provider serves: the key would allow nothing */
  async function chainsOf(names: readonly string[]): Promise<string[]> {
    const chains = await catalog.readChains()
    return names.map((name, index) => {
      const chain = chains.find(name)
      if (!chain) throw new ApiError('INVALID_REQUEST', `chains[${index}]: no provider serves this chain`)
      return chain.caip2
    })
  }

  return {
    async create(req: Request, res: Response, session: Session) {
      const wanted = parse(NewAccessKey, req.body)
      if (wanted.expires_at !== undefined && new Date(wanted.expires_at) <= now())
        throw new ApiError('INVALID_REQUEST', 'expires_at: is in the past')
      await sessions.assertSessionActive(session)
      const created = await keys.create(session, { ...wanted, chains: await chainsOf(wanted.chains) })
      if (!created)
        throw new ApiError('CONFLICT', 'This wallet has as many access keys as it may have; delete one first')
      const answer: CreatedAccessKey = {
        ...created.key,
        key: created.secret,
        url: `${publicUrl}/v1/{chain}/${created.secret}`,
      }
      res.status(201).set('Cache-Control', 'no-store').json(answer)
    },

    async list(_req: Request, res: Response, session: Session) {
      await sessions.assertSessionActive(session)
      res.set('Cache-Control', 'no-store').json({ data: await keys.list(session) })
    },

    async remove(req: Request, res: Response, session: Session) {
      const { id } = parse(AccessKeyPath, req.params)
      await sessions.assertSessionActive(session)
      if (!(await keys.delete(session, id)))
        throw new ApiError('NOT_FOUND', 'This wallet has no access key of this id; see GET /keys')
      res.json({ deleted: id })
    },
  }
}
