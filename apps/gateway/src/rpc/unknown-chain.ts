import { ApiError } from '@tollgate/service'
import { type Chains } from '../catalog/chains'

/** The URL of a new access key has `{chain}` in it. */
export function unknownChain(name: string, { list: [example] }: Pick<Chains, 'list'>): ApiError {
  const problem =
    name === '{chain}' && example
      ? `Put a chain, such as ${example.network}, in the place of {chain}`
      : 'No provider serves this chain'
  return new ApiError('NOT_FOUND', `${problem}; see GET /providers`)
}
