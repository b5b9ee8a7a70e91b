import { AccessKey, AccessKeyPath, CreatedAccessKey, NewAccessKey } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { refusals } from './errors'

const tag = 'Access keys'
const examplesOf = (schema: z.ZodType) => (z.globalRegistry.get(schema)?.examples ?? []) as unknown[]

export const keyOperations: Operation[] = [
  {
    id: 'createKey',
    method: 'post',
    path: '/keys',
    tag,
    summary: 'Create an access key for clients that cannot set a header.',
    description:
      'The key is a secret in the URL `/v1/{chain}/{key}`: each client that has it spends the credits of this session’s wallet on this session’s plan, within the limits of the key. Only its hash is stored. It outlives the session. A wallet has at most 100 keys. A secret in a URL is less safe than one in a header: give each key a limit and, for a web page, its origins.',
    auth: ['bearer'],
    body: { schema: NewAccessKey },
    answers: { 201: { description: 'The key, with its secret.', schema: CreatedAccessKey } },
    errors: {
      INVALID_REQUEST: 'A field is wrong, or a chain is not served.',
      ...refusals.bearer,
      CONFLICT: 'The wallet has as many keys as it may have.',
      ...refusals.smallBody,
      ...refusals.limited,
    },
  },
  {
    id: 'listKeys',
    method: 'get',
    path: '/keys',
    tag,
    summary: 'List the access keys of the session’s wallet, newest first.',
    auth: ['bearer'],
    answers: {
      200: {
        description: 'The keys that can be used, without their secrets.',
        schema: z.object({ data: z.array(AccessKey) }).meta({ examples: [{ data: examplesOf(AccessKey) }] }),
      },
    },
    errors: { ...refusals.bearer, ...refusals.limited },
  },
  {
    id: 'deleteKey',
    method: 'delete',
    path: '/keys/{id}',
    tag,
    summary: 'Delete an access key, at once and on every replica.',
    auth: ['bearer'],
    pathParameters: AccessKeyPath,
    answers: {
      200: {
        description: 'The key is dead.',
        schema: z.object({ deleted: z.string() }).meta({
          examples: [{ deleted: '5b7d9a52-6f0e-4c55-9a55-0d6c7f1c2b3a' }],
        }),
      },
    },
    errors: {
      INVALID_REQUEST: 'This is no id of a key.',
      ...refusals.bearer,
      NOT_FOUND: 'The wallet has no key of this id.',
      ...refusals.limited,
    },
  },
]
