/**
 * What a provider's own front says in place of its node. `rate_limit`: too many requests. `quota`: the plan is used up or unpaid.
 * `access`: the key, the address or the origin is not accepted. `plan`: the plan does not include the method. `query_limit`: the
 * provider limits the range, the size or the batch of the query. `no_node`: the provider reached no node. `no_answer`: it is no
 * answer of a node's API.
 */
export const refusalKinds = [
  'rate_limit',
  'quota',
  'access',
  'plan',
  'query_limit',
  'no_node',
  'no_answer',
] as const
export type RefusalKind = (typeof refusalKinds)[number]

/** Concerns what one call asks, not the provider's account: the provider serves others, and others would refuse the call too. */
export const isOfTheCall = (kind: RefusalKind): boolean => kind === 'query_limit' || kind === 'plan'

/** `source`: a public page that has the answer. */
type Row<Match> = Match & { kind: RefusalKind; source: string }

/** A row without `message` holds for every message of its codes; one without `codes` for every code that nodes leave open. */
export type ErrorRefusal = Row<{ codes?: readonly number[]; message?: RegExp }>

const infura = 'https://docs.metamask.io/services/reference/ethereum/json-rpc-methods/#error-codes'
const infuraLimits =
  'https://docs.metamask.io/developer-tools/dashboard/how-to/secure-an-api/set-rate-limits/'
const alchemy = 'https://www.alchemy.com/docs/reference/error-reference'
const alchemyThroughput = 'https://www.alchemy.com/docs/reference/throughput'
const alchemyRange = 'https://github.com/cartesi/rollups-node/pull/655'
const quicknode = 'https://www.quicknode.com/docs/ethereum/error-references'
const quicknodeRange = 'https://github.com/palomachain/paloma/issues/1165'
const ankr = 'https://www.ankr.com/docs/rpc-service/errors/overview/'
const blockvision = 'https://docs.blockvision.org/reference/error-code-reference'
const chainstack = 'https://docs.chainstack.com/docs/error-reference'
const tenderly = 'https://docs.tenderly.co/troubleshooting/node'
const goldsky = 'https://docs.goldsky.com/edge-rpc/evm/error-codes'
const zan = 'https://docs.zan.top/reference/error-codes'
const oneRpc = 'https://docs.1rpc.io/using-the-web3-api/errors'
const theRpc = 'https://therpc.io/docs/ethereum/rate-limits'
const wetez = 'https://docs.wetez.io/wetez/developer/apis/error'
const nodewell = 'https://nodewell.io/docs/errors.html'
const auro = 'https://docs.lab.au.ro/guide/errors.html'
const drpc = 'https://github.com/enviodev/hyperindex/issues/715'
const eip1474 = 'https://eips.ethereum.org/EIPS/eip-1474'
const erpc = 'https://github.com/erpc/erpc/blob/main/architecture/evm/error_normalizer.go'
const gethBatches = 'https://geth.ethereum.org/docs/interacting-with-geth/rpc/batch'
const cosmosGateway = 'https://docs.cosmos.network/sdk/latest/node/interact-node'
const cloudflare =
  'https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/'
const osmosis = 'https://github.com/osmosis-labs/osmosis/issues/4580'

const rangeWords =
  /(block range|range of blocks|blocks? range)|\branges?\b.{0,40}\b(large|wide|limit|exceed|support)|returned more than|too many (results|logs|blocks)|max(imum)? range/i

/** JSON-RPC errors; the first row that fits decides. */
export const errorRefusals: readonly ErrorRefusal[] = [
  { codes: [-32_005, -32_012], message: rangeWords, kind: 'query_limit', source: goldsky },
  { codes: [-32_005], message: /batch/i, kind: 'query_limit', source: eip1474 },
  { codes: [-32_005], message: /api.?key|whitelist/i, kind: 'access', source: zan },
  { codes: [-32_005], message: /quota|daily|month/i, kind: 'quota', source: auro },
  { codes: [-32_005], kind: 'rate_limit', source: infura },
  { codes: [-32_029], kind: 'rate_limit', source: theRpc },
  { codes: [429], kind: 'rate_limit', source: alchemyThroughput },
  { codes: [401], kind: 'access', source: wetez },
  { codes: [402], kind: 'quota', source: erpc },
  { codes: [403], kind: 'access', source: alchemy },
  { codes: [-32_002], message: /rejected due to|whitelist/i, kind: 'access', source: infura },
  { codes: [-32_003], message: /\bcu\b.{0,20}limit/i, kind: 'rate_limit', source: zan },
  { codes: [-32_003], message: /response too large/i, kind: 'query_limit', source: gethBatches },
  { codes: [-32_004], message: /rate.?limit/i, kind: 'rate_limit', source: zan },
  { codes: [-32_004], message: /limit|quota/i, kind: 'quota', source: tenderly },
  { codes: [-32_006, -32_007], message: /api.?key|whitelist/i, kind: 'access', source: nodewell },
  { codes: [-32_007, -32_009], message: /limit/i, kind: 'rate_limit', source: quicknode },
  { codes: [-32_008], message: /quota|limit/i, kind: 'quota', source: nodewell },
  { codes: [-32_011], message: /project scope|network error/i, kind: 'access', source: auro },
  { codes: [-32_015], message: /time(d)?.?out/i, kind: 'no_node', source: goldsky },
  { codes: [-32_016], message: /authori[sz]|authenticat|api.?key/i, kind: 'access', source: goldsky },
  { codes: [-32_046], kind: 'no_node', source: erpc },
  { codes: [-32_047], message: rangeWords, kind: 'query_limit', source: erpc },
  { codes: [-32_055], kind: 'no_node', source: ankr },
  { codes: [-32_604], kind: 'plan', source: blockvision },
  { codes: [-32_605], kind: 'rate_limit', source: blockvision },
  { codes: [-32_606], kind: 'access', source: blockvision },
  { codes: [-32_607], kind: 'quota', source: blockvision },
  { codes: [-32_612, -32_613], kind: 'plan', source: quicknode },
  { codes: [-32_614], kind: 'query_limit', source: quicknodeRange },
  { codes: [30], message: /tier|timeout/i, kind: 'plan', source: drpc },
  { codes: [35], message: /tier|range/i, kind: 'query_limit', source: drpc },
  {
    codes: [-32_600, -32_602, -32_000],
    message:
      /block range should work|up to an? [\d,]+ block range|log response size exceeded|limited to (an? )?[\d,]+ (block )?range/i,
    kind: 'query_limit',
    source: alchemyRange,
  },
  { message: /ranges? over [\d,]+ blocks/i, kind: 'query_limit', source: drpc },
  {
    message: /query returned more than|block range (limit exceeded|is too wide)/i,
    kind: 'query_limit',
    source: erpc,
  },
  {
    message: /eth_(getLogs|newFilter)\b.{0,40}\b(limited|too large)/i,
    kind: 'query_limit',
    source: quicknode,
  },
  { message: /response size should not|request is too large/i, kind: 'query_limit', source: oneRpc },
  {
    message:
      /batch (is |size )?(too (large|big)|limit)|batch size|max(imum)? batch|too many (requests|calls) in (the |a )?batch/i,
    kind: 'query_limit',
    source: gethBatches,
  },
  { message: /archive\b.{0,60}\b(plan|tier|upgrade|access)/i, kind: 'plan', source: erpc },
  {
    message:
      /(not (available|supported|included|allowed)|unavailable|disabled)\b.{0,40}\b(plan|tier|free.?tier|subscription)|not whitelisted/i,
    kind: 'plan',
    source: 'https://github.com/megaeth-labs/documentation/pull/83',
  },
  {
    message:
      /\/billing|payment required|past due|insufficient (credit|quota|cu)s?\b|monthly|daily (quota|limit|request|usage)/i,
    kind: 'quota',
    source: alchemyThroughput,
  },
  {
    message: /usage limit|(free|current) (tier|plan)|upgrade (your|to (a|an|the)) /i,
    kind: 'quota',
    source: oneRpc,
  },
  {
    message: /too many requests|\brate.?limit|(request|call) rate\b.{0,20}exceeded|throttl|slow down/i,
    kind: 'rate_limit',
    source: infuraLimits,
  },
  {
    message:
      /\b(requests?|compute units?|cus?|rps|throughput|capacity|quota|credits?)\b.{0,50}\b(limit|limited|exceeded|exhausted|reached)\b|\bexceeded\b.{0,50}\b(requests?|compute units?|cus?|rps|throughput|capacity|quota|credits?)\b/i,
    kind: 'rate_limit',
    source: quicknode,
  },
  {
    message:
      /api.?key|access (key|token)|project id|must be authenticated|\bunauthori[sz]ed\b|\bforbidden\b|access denied|not on whitelist|ip (address )?(is )?not allowed/i,
    kind: 'access',
    source: blockvision,
  },
  {
    message:
      /no (healthy|available) (node|server|backend|upstream|provider)|no (nodes?|servers?|backends?|upstreams?|providers?) (is |are )?(available|healthy|found|reachable)|(node|backend|upstream)s? (is |are )?(currently )?(unavailable|unreachable|unhealthy)|(backend|upstream) (request|connect)|service (is )?(temporarily |currently )?unavailable|under too much load|server (is )?(too )?busy|bad gateway|gateway time.?out|request timed out\. client should retry/i,
    kind: 'no_node',
    source: chainstack,
  },
]

/** Answers of a node that use the words of a provider. */
export const nodeErrors: readonly RegExp[] = [
  /revert|\bVM (exception|execution)|\bEVM\b|stack (limit|underflow)|out of gas|\bgas\b/i,
  // A sequencer limits the sender of a transaction, through any provider.
  /sender is over rate limit/i,
]

/** These statuses concern the gateway's account at the provider, or what it forwards, with any body. */
export const statusRefusals: readonly Row<{ status: number }>[] = [
  { status: 401, kind: 'access', source: infura },
  { status: 402, kind: 'quota', source: erpc },
  { status: 403, kind: 'access', source: alchemy },
  { status: 407, kind: 'access', source: 'https://www.rfc-editor.org/rfc/rfc9110#section-15.5.8' },
  { status: 413, kind: 'query_limit', source: chainstack },
  { status: 429, kind: 'rate_limit', source: infura },
]

/** Media types that no API of a node has. */
export const mediaTypeRefusals: readonly Row<{ mediaType: string }>[] = [
  { mediaType: 'text/html', kind: 'no_answer', source: osmosis },
  { mediaType: 'application/xhtml+xml', kind: 'no_answer', source: osmosis },
  { mediaType: 'application/xml', kind: 'no_answer', source: osmosis },
  { mediaType: 'text/xml', kind: 'no_answer', source: osmosis },
]

/** Bodies that are not JSON, by their beginning. */
export const textRefusals: readonly Row<{ body: RegExp }>[] = [
  { body: /^\s*<(!doctype|html|head|body|\?xml|!--)/i, kind: 'no_answer', source: osmosis },
  { body: /^\s*error code: ?10(15|27)\b/i, kind: 'rate_limit', source: cloudflare },
  { body: /^\s*error code: ?\d{3,4}\b/i, kind: 'no_node', source: cloudflare },
  { body: /^\s*message: .*api key/i, kind: 'access', source: ankr },
  { body: /^\s*message: .*(limit|credit)/i, kind: 'rate_limit', source: ankr },
]

/** Pages that a node itself serves. */
export const nodePages: readonly RegExp[] = [
  // The root of CometBFT's RPC lists its routes.
  /^<html><body>(<br>)+Available endpoints:/i,
]

/** Errors over REST that a gRPC gateway reports about its connection to the node, by their message. */
export const gatewayRefusals: readonly Row<{ message: RegExp }>[] = [
  {
    message:
      /connection error: desc|transport: |error reading from server|connection refused|no children to pick|name resolver/i,
    kind: 'no_node',
    source: cosmosGateway,
  },
]
