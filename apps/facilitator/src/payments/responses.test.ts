import { invalid, failure, publicDetail } from './responses'

const of = (detail: string | null, reason = 'invalid_transaction_state') => publicDetail({ reason, detail })

describe('the public detail of a refusal', () => {
  test('is what the token or the node says', () => {
    for (const words of [
      'Pausable: paused',
      'Blacklistable: account is blacklisted',
      'fee 749uatom, this node asks 750uatom',
    ])
      expect(of(words)).toBe(words)
  })

  test.each<[string, string, string | undefined]>([
    ['letters of other alphabets', 'gespérrt 大', 'gesp?rrt ?'],
    ['control characters and line ends', 'a\u0000b\r\nX-Header: c\u007f', 'a?b X-Header: c?'],
    [
      'the URL of a node, which may hold a key',
      'cannot reach https://eth.example/v2/s3cr3t?key=k for it',
      'cannot reach (URL) for it',
    ],
    ['one without http', 'WSS://user:pass@node.example/x refused', '(URL) refused'],
    ['nothing but spaces', ' \n\t ', undefined],
    ['nothing', '', undefined],
  ])('is one line of printable ASCII without URLs: %s', (_, detail, expected) => {
    expect(of(detail)).toBe(expected)
  })

  test('is short, also where a URL is cut', () => {
    expect(of('x'.repeat(200))).toBe('x'.repeat(200))
    expect(of('x'.repeat(201))).toBe(`${'x'.repeat(197)}...`)
    const long = of(`${'x '.repeat(80)}https://node.example/${'k'.repeat(5_000)}`)
    expect(long).toContain('(URL)')
    expect(long).not.toContain('kkk')
    expect(of('大'.repeat(1_000_000))?.length).toBe(200)
  })

  test('says nothing of the fees of others if the client has used up its own', () => {
    const detail = 'new users have used 9 of the 10 that its payments may cost in 24 hours'
    expect(of(detail, 'fee_allowance_exceeded')).toBe(
      'the client key has used up the network fees that it may cause in 24 hours',
    )
  })

  test('is omitted for internal errors and if there is none', () => {
    expect(of('fees of 3 and 4 would pass 5 a day', 'unexpected_settle_error')).toBeUndefined()
    expect(of(null)).toBeUndefined()
    const at = new Date(0)
    expect(failure({ reason: 'duplicate_settlement', detail: '' }, 'n', at)).not.toHaveProperty(
      'errorMessage',
    )
    expect(invalid({ reason: 'invalid_payload', detail: 'bad' }, at)).toMatchObject({ invalidMessage: 'bad' })
  })
})
