import { type Ecosystem } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type IncomingHttpHeaders } from 'node:http'
import { type UpstreamRequest } from './upstream/upstream-request'

/** The height at which a node of a Cosmos chain answers. The gRPC gateway reads the second name as the first. */
export const HEIGHT_HEADERS = ['x-cosmos-block-height', 'grpc-metadata-x-cosmos-block-height'] as const

/** A height is an int64 in a node. */
const MAX_HEIGHT = 2n ** 63n - 1n

/**
 * They change what a node or its provider answers, and are not passed on: a call with one would be answered as another call, and
 * charged.
 */
const CHANGES_THE_ANSWER: Record<Ecosystem, RegExp> = {
  cosmos: /^grpc-(?:metadata-.|timeout$)/,
  evm: /^x-(?:flashbots|auction)-signature$/,
}

export type NodeHeaders = Pick<UpstreamRequest, 'accept' | 'acceptEncoding' | 'blockHeight'>

/** The headers of a caller that a node gets. @throws ApiError INVALID_REQUEST for one that would change the answer */
export function nodeHeadersOf(headers: IncomingHttpHeaders, ecosystem: Ecosystem): NodeHeaders {
  const { accept, 'accept-encoding': acceptEncoding } = headers
  const blockHeight = ecosystem === 'cosmos' ? blockHeightOf(headers) : undefined
  const pattern = CHANGES_THE_ANSWER[ecosystem]
  for (const name in headers)
    if (pattern.test(name) && !HEIGHT_HEADERS.some((known) => known === name))
      throw new ApiError('INVALID_REQUEST', `The header ${name} is not passed on to nodes; leave it out`)
  return { accept, acceptEncoding: readableEncodings(acceptEncoding), blockHeight }
}

/** Others could hide the refusal of a provider, or a secret in it. */
const READABLE = /^(?:gzip|br)\s*(?:;\s*q=(?:1(?:\.0*)?|0?\.[0-9]*[1-9][0-9]*))?$/i

function readableEncodings(accepted: string | string[] | undefined): string | undefined {
  if (accepted === undefined) return undefined
  const readable = String(accepted)
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => READABLE.test(encoding))
  return readable.length === 0 ? 'identity' : readable.join(', ')
}

function blockHeightOf(headers: IncomingHttpHeaders): string | undefined {
  const given = HEIGHT_HEADERS.flatMap((name) => headers[name] ?? [])
  const [height] = given
  if (height === undefined) return undefined
  if (given.some((other) => other !== height))
    throw new ApiError(
      'INVALID_REQUEST',
      `Send one of ${HEIGHT_HEADERS.join(' and ')}, or the same height in both`,
    )
  if (/^(?:0|[1-9][0-9]{0,18})$/.test(height) && BigInt(height) <= MAX_HEIGHT) return height
  throw new ApiError(
    'INVALID_REQUEST',
    `${HEIGHT_HEADERS[0]}: expected the height of a block, in decimal digits`,
  )
}
