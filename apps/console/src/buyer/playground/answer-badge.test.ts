import { answerBadge } from './answer-badge'

test.each([
  [200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}', { isError: false, text: '200' }],
  [200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}', { isError: true, text: 'error -32603' }],
  [200, '{"result":{"error":{"code":7}}}', { isError: false, text: '200' }],
  [200, 'null', { isError: false, text: '200' }],
  [502, '<html>', { isError: true, text: '502' }],
])('an answer %s %s is shown as %j', (status, text, badge) => {
  expect(answerBadge({ status, text })).toEqual(badge)
})
