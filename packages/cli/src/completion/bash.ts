import { pathsOf, valuedOptions, type Entry } from './entries'

/** Options and their values are passed over to find the command. Bash makes words of its own of `=` and `:`. */
export const bash = (
  entries: Entry[],
): string => `# bash completion of tollgate: eval "$(tollgate completion bash)"
_tollgate() {
  local word path="" option="" current="\${COMP_WORDS[COMP_CWORD]}" index
  local known="${pathsOf(entries)}" valued="${valuedOptions(entries)
    .map(({ name }) => name)
    .join('|')}"
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [ -n "$option" ]; then
      [ "$word" = "=" ] || option=""
      continue
    fi
    case "|$valued|" in *"|$word|"*) option="$word" ;; esac
    case "|$known|" in *"|\${path:+$path }$word|"*) path="\${path:+$path }$word" ;; esac
  done
  if [ "$current" = "=" ]; then current=""; fi
  local suggestions=""
  case "$option" in
    "") ;;
${valuedOptions(entries)
  .filter(({ value }) => value.choices.length > 0)
  .map(
    ({ name, value }) =>
      `    ${name}) COMPREPLY=($(compgen -W "${value.choices.join(' ')}" -- "$current")); return ;;`,
  )
  .join('\n')}
    *) COMPREPLY=(); return ;;
  esac
  case "$path" in
${entries.map((entry) => `    "${entry.words}") suggestions="${suggestionsOf(entry).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$suggestions" -- "$current"))
}
complete -o default -F _tollgate tollgate
`

const suggestionsOf = ({ commands, options, values }: Entry): string[] => [
  ...commands.map(({ name }) => name),
  ...values.flatMap(({ choices }) => choices),
  ...options.map(({ name }) => name),
]
