import { createSecrets } from '../terminal'
import { createTestTerminal } from '../testing/terminal'
import { CommandError } from '../exit-codes'
import { createOutput } from './output'
import { printableLines } from './printable'
import { table } from './table'

const ESCAPE = '\u001B'

function open({ isTTY = false, isJson = false, environment = {} } = {}) {
  const secrets = createSecrets()
  const { terminal, printed } = createTestTerminal({ isTTY, environment })
  return { output: createOutput(terminal, { isJson, isColored: true, secrets }), printed, secrets }
}

test.each<[string, Parameters<typeof open>[0], boolean]>([
  ['a terminal', { isTTY: true }, true],
  ['a file', { isTTY: false }, false],
  ['a terminal with NO_COLOR', { isTTY: true, environment: { NO_COLOR: '1' } }, false],
  ['a terminal with an empty NO_COLOR', { isTTY: true, environment: { NO_COLOR: '' } }, true],
  ['a dumb terminal', { isTTY: true, environment: { TERM: 'dumb' } }, false],
])('colors on %s', (_, options, isColored) => {
  const { output, printed } = open(options)
  output.result([], (colors) => table(colors, ['Plan'], [[1]]))
  output.fail(new Error('A message'))
  expect([printed.stdout.includes(ESCAPE), printed.stderr.includes(ESCAPE)]).toEqual([isColored, isColored])
})

test('progress and notes are for terminals only', () => {
  const { output, printed } = open()
  output.progress('Settling')()
  output.note('A note')
  expect(printed).toEqual({ stdout: '', stderr: '' })
})

test('a result in JSON is one document, with bigints as digits', () => {
  const { output, printed } = open({ isJson: true })
  output.result({ amount: 10_000n }, () => 'for people')
  expect(JSON.parse(printed.stdout)).toEqual({ amount: '10000' })
})

test('a failure in JSON has code, message, advice and exit code', () => {
  const { output, printed } = open({ isJson: true })
  expect(output.fail(new Error('A message'))).toBe(1)
  expect(JSON.parse(printed.stderr)).toEqual({
    error: { code: 'INTERNAL', message: 'Unexpected: A message', advice: '', exit_code: 1 },
  })
  expect(printed.stdout).toBe('')
})

test('no secret that was read is printed', () => {
  const { output, printed, secrets } = open({ isTTY: true })
  secrets.addKey(`0x${'ab'.repeat(32)}`)
  secrets.addPassword('correct horse')
  output.fail(new Error(`a ${'ab'.repeat(32)} b 0x${'ab'.repeat(32)} c correct horse`))
  output.warn('correct horse')
  output.result('ab'.repeat(32), () => `0x${'ab'.repeat(32)}`)
  expect(printed.stderr + printed.stdout).not.toMatch(/abab|horse/)
})

test('texts from elsewhere cannot write to the terminal', () => {
  const { output, printed } = open()
  output.result([], (colors) => table(colors, ['Label'], [[`a${ESCAPE}[2Jb\u202Ec\r\nd`]]))
  expect(printed.stdout).toBe('Label\na[2Jbcd\n')
})

test('messages from elsewhere cannot rewrite the terminal, nor fill it', () => {
  const { output, printed } = open()
  output.fail(new CommandError('CODE', `${ESCAPE}[2K${'x'.repeat(5_000)}`, `${ESCAPE}]0;title\u0007`, 1))
  expect(printed.stderr).not.toContain(ESCAPE)
  expect(printed.stderr.length).toBeLessThan(1_200)
})

test('a text of several lines keeps its lines', () => {
  expect(printableLines(`a\n\tb${ESCAPE}[2J\r\u202Ec`)).toBe('a\n\tb[2Jc')
})

test('JSON has no character that could rewrite a terminal, and means the same', () => {
  const { output, printed } = open({ isJson: true })
  const value = { ['k\u009B']: 'a\u001B[2J\u009B31m\u202Eb\u2066c\u007Fd\u2028e\u{E0001}f' }
  output.result(value, () => '')
  output.fail(new CommandError('CODE', value['k\u009B'], '', 1))
  const text = printed.stdout + printed.stderr
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u2028]/u)
  expect(JSON.parse(printed.stdout)).toEqual(value)
})

test('a result that cannot be written is a failure, with what to do about it', async () => {
  const { terminal, printed } = createTestTerminal()
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  const stdout = { write: (_: string, written?: (error?: Error) => void) => written?.(full) }
  const output = createOutput(
    { ...terminal, stdout },
    { isJson: true, isColored: false, secrets: createSecrets() },
  )
  output.result({}, () => '', 'Delete it.')
  const error: unknown = await output.written().catch((reason: unknown) => reason)
  expect(output.fail(error)).toBe(1)
  expect(JSON.parse(printed.stderr)).toEqual({
    error: {
      ...{ code: 'OUTPUT_FAILED', message: 'The output cannot be written (ENOSPC)' },
      ...{ advice: 'Delete it.', exit_code: 1 },
    },
  })
})

test('a result that was written is none', async () => {
  const { output } = open()
  output.result({}, () => 'text')
  await output.written()
})
