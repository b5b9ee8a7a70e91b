import { type Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

type Entry = { words: string; commands: Suggestion[]; options: Suggestion[] }
type Suggestion = { name: string; description: string }

/** A script that completes commands and options. */
export const completionScript = (program: Command, shell: Shell): string => scripts[shell](entriesOf(program))

/** Each command with what may follow it. */
function entriesOf(program: Command): Entry[] {
  const global = optionsOf(program).filter(({ name }) => name !== '--version')
  const walk = (command: Command, path: string[], inherited: Suggestion[]): Entry[] => {
    const options = [...inherited, ...(command === program ? [] : optionsOf(command))]
    const commands = command.commands.map((one) => ({ name: one.name(), description: one.description() }))
    return [
      { words: path.join(' '), commands, options },
      ...command.commands.flatMap((one) => walk(one, [...path, one.name()], options)),
    ]
  }
  return walk(program, [], [...global, { name: '--help', description: 'show the help' }])
}

const optionsOf = (command: Command): Suggestion[] =>
  command.options.flatMap(({ long, description }) => (long ? [{ name: long, description }] : []))

const namesOf = ({ commands, options }: Entry) => [...commands, ...options].map(({ name }) => name).join(' ')

/** Words that are commands, joined; options before them are passed over. */
const bash = (entries: Entry[]): string => `# bash completion of tollgate: eval "$(tollgate completion bash)"
_tollgate() {
  local word path="" known="${paths(entries)}" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${path:+$path }\${COMP_WORDS[index]}"
    case "|$known|" in *"|$word|"*) path="$word" ;; esac
  done
  local suggestions=""
  case "$path" in
${entries.map((entry) => `    "${entry.words}") suggestions="${namesOf(entry)}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$suggestions" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tollgate tollgate
`

const zsh = (entries: Entry[]): string => `#compdef tollgate
# zsh completion of tollgate: eval "$(tollgate completion zsh)"
_tollgate() {
  local word path_="" known="${paths(entries)}"
  local -i index
  local -a suggestions
  for ((index = 2; index < CURRENT; index++)); do
    word="\${path_:+$path_ }\${words[index]}"
    case "|$known|" in *"|$word|"*) path_="$word" ;; esac
  done
  case "$path_" in
${entries
  .map(
    (entry) =>
      `    "${entry.words}") suggestions=(${[...entry.commands, ...entry.options].map(zshSuggestion).join(' ')}) ;;`,
  )
  .join('\n')}
  esac
  _describe tollgate suggestions || _files
}
compdef _tollgate tollgate
`

const zshSuggestion = ({ name, description }: Suggestion) =>
  quoted(`${name}:${description.replaceAll(':', '\\:')}`)

const fish = (entries: Entry[]): string => `# fish completion of tollgate: tollgate completion fish | source
function __tollgate_at
    set -l path ""
    set -l known ${entries.map(({ words }) => `"${words}"`).join(' ')}
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$path $word")
        contains -- $next $known; and set path $next
    end
    test "$path" = "$argv[1]"
end
${entries.flatMap(fishLines).join('\n')}
`

function fishLines({ words, commands, options }: Entry): string[] {
  const at = `complete -c tollgate -n '__tollgate_at "${words}"'`
  return [
    ...commands.map(({ name, description }) => `${at} -f -a ${name} -d ${quoted(description)}`),
    ...options.map(({ name, description }) => `${at} -l ${name.slice(2)} -d ${quoted(description)}`),
  ]
}

const paths = (entries: Entry[]) => entries.map(({ words }) => words).join('|')

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const scripts: Record<Shell, (entries: Entry[]) => string> = { bash, zsh, fish }
