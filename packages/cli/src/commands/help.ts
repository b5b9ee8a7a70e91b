import { Command } from 'commander'

/** A command with examples at the end of its help. */
export const describe = (name: string, description: string, ...examples: string[]): Command =>
  new Command(name)
    .summary(/^.*?(?=[.,:] |$)/.exec(description)?.[0] ?? description)
    .description(description)
    .helpCommand(false)
    .addHelpText('after', helpAfter(examples))

/** For an option that may be repeated. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value]

const helpAfter = (examples: readonly string[]) => {
  const title = examples.length === 1 ? 'Example' : 'Examples'
  return `\n${title}:\n${examples.map((example) => `  $ ${example}`).join('\n')}\n\nOptions of every command: tollgate --help\n`
}
