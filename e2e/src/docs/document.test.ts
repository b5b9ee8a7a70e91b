import { examplesOf } from './document'

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`
const answer = (value: string) => `Answer, \`200\`:\n\n${fence('json', value)}`

describe('the examples of a document', () => {
  test('have the responses that follow their group', () => {
    const page = [
      '# First',
      fence('bash', 'one'),
      fence('ts', 'two'),
      answer('1'),
      'and with that `402` the `X-PAYMENT-RESPONSE`:\n',
      fence('json', '2'),
      fence('sh', 'three'),
      '## Second',
      fence('ts', 'four'),
      answer('3'),
    ].join('\n')
    const first = [
      { line: 12, status: 200, inHeader: false, value: 1 },
      { line: 18, status: 402, inHeader: true, value: 2 },
    ]
    expect(examplesOf(page)).toEqual([
      { line: 2, heading: 'First', language: 'bash', text: 'one', answers: first },
      { line: 6, heading: 'First', language: 'ts', text: 'two', answers: first },
      { line: 22, heading: 'First', language: 'bash', text: 'three', answers: [] },
      {
        line: 27,
        heading: 'Second',
        language: 'ts',
        text: 'four',
        answers: [expect.objectContaining({ value: 3 })],
      },
    ])
  })

  test.each([
    ['in a language that is not run', fence('python', 'print()')],
    ['in no language', fence('', 'GET /')],
    ['that never ends', '```ts\nfetch()'],
    ['that shows an answer to nothing', answer('1')],
    ['that shows an answer across a heading', `${fence('ts', '')}\n## Next\n${answer('1')}`],
    ['that shows an answer without its status', `${fence('ts', '')}\nAnswer:\n${fence('json', '1')}`],
    ['that shows no JSON', `${fence('ts', '')}\n${answer('{ a: 1 }')}`],
  ])('a block %s is not passed over', (_, page) => {
    expect(() => examplesOf(page)).toThrow()
  })
})
