import { type CommandLine, parseOptions, runCommand, UsageError } from './command-line'
import { ConfigurationError } from './config'

const commands: Readonly<Record<string, (args: string[]) => number>> = {
  work: (args) => Number(parseOptions(args, { code: { type: 'string' } }).values.code ?? '0'),
  misuse: () => fail(new UsageError('misuse needs a name')),
  unconfigured: () => fail(new ConfigurationError(['A is not set', 'B is not set'])),
  explained: () => fail(new Error('known')),
  broken: () => fail(new Error('at line 1\n the reason\n')),
}

const commandLine: CommandLine = {
  name: 'tool',
  help: 'all commands',
  helpOf: ([command = '']) => (Object.hasOwn(commands, command) ? `help of ${command}` : undefined),
  run: ([command = '', ...args]) =>
    Promise.resolve().then(() => commands[command]?.(args) ?? fail(new UsageError('unknown command'))),
  explain: (error) => (error instanceof Error && error.message === 'known' ? 'explained' : undefined),
}

const fail = (error: Error): never => {
  throw error
}

async function tool(args: string[]) {
  let [out, err] = ['', '']
  const code = await runCommand(commandLine, args, {
    environment: {},
    out: (text) => (out += text),
    err: (text) => (err += text),
  })
  return [code, out, err]
}

describe('runCommand', () => {
  test.each([
    ['work', [0, '', '']],
    ['work --code 1', [1, '', '']],
    ['work --help', [0, 'help of work', '']],
    ['work --unknown -h', [0, 'help of work', '']],
    ['misuse', [2, '', 'tool: misuse needs a name\n\nhelp of misuse']],
    ['absent', [2, '', 'tool: unknown command\n\nall commands']],
    ['absent --help', [2, '', 'tool: unknown command\n\nall commands']],
    ['unconfigured', [78, '', 'tool: A is not set; B is not set\n']],
    ['explained', [1, '', 'tool: explained\n']],
    ['broken', [1, '', 'tool: failed, and nothing was changed:  the reason\n']],
  ])('exit code and output: %s', async (line, expected) => {
    expect(await tool(line.split(' '))).toEqual(expected)
  })

  test.each([['--unknown'], ['--code'], ['--code=1 --no-code']])(
    'is a usage error, with the help: %s',
    async (option) => {
      const [code, out, err] = await tool(['work', ...option.split(' ')])
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(/^tool: .*--(no-)?(code|unknown)[^]*help of work$/)
    },
  )
})
