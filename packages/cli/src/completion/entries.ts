import { type Argument, type Command, type Option } from 'commander'

/** What may be at a place: one of these words, a file, or a text that cannot be guessed. */
export type Value = { choices: readonly string[]; isFile: boolean }

type Suggestion = { name: string; description: string }
export type OptionSuggestion = Suggestion & {
  /** Without its dash. */
  short?: string
  /** Undefined for a flag. */
  value?: Value
}

/** A command with what may follow it. `words` is its path, without the program. */
export type Entry = { words: string; commands: Suggestion[]; options: OptionSuggestion[]; values: Value[] }

const HELP: OptionSuggestion = { name: '--help', short: 'h', description: 'show the help' }

export function entriesOf(program: Command): Entry[] {
  const global = [...program.options.filter(({ long }) => long !== '--version').flatMap(suggestionOf), HELP]
  const walk = (command: Command, path: string[], inherited: OptionSuggestion[]): Entry[] => {
    const options = [...inherited, ...(command === program ? [] : command.options.flatMap(suggestionOf))]
    const entry = {
      words: path.join(' '),
      commands: command.commands.map(nameOf),
      options,
      values: command.registeredArguments.map(valueOf),
    }
    return [entry, ...command.commands.flatMap((one) => walk(one, [...path, one.name()], options))]
  }
  const [root, ...others] = walk(program, [], global)
  if (!root) return []
  const help = { name: 'help', description: 'Show the help of a command' }
  return [
    { ...root, commands: [...root.commands, help] },
    ...others,
    { words: 'help', commands: root.commands, options: [], values: [] },
  ]
}

/** Options that take a value, once each. */
export function valuedOptions(entries: readonly Entry[]): (Suggestion & { value: Value })[] {
  const options = entries.flatMap((entry) => entry.options)
  const byName = new Map(options.map((option) => [option.name, option]))
  return [...byName.values()].flatMap(({ value, ...option }) => (value ? [{ ...option, value }] : []))
}

/** All commands, joined. */
export const pathsOf = (entries: readonly Entry[]) => entries.map(({ words }) => words).join('|')

const nameOf = (command: Command): Suggestion => ({
  name: command.name(),
  description: command.description(),
})

function suggestionOf(option: Option): OptionSuggestion[] {
  const { long, short, description, required, optional, argChoices, flags } = option
  if (!long) return []
  const value = { choices: argChoices ?? [], isFile: /<(file|folder)>/.test(flags) }
  return [
    {
      ...{ name: long, description },
      ...(short ? { short: short.slice(1) } : {}),
      ...(required || optional ? { value } : {}),
    },
  ]
}

const valueOf = (argument: Argument): Value => ({
  choices: argument.argChoices ?? [],
  isFile: argument.name() === 'file',
})

export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
