import { pathsOf, quoted, valuedOptions, type Entry } from './entries'

/** Works from `eval` and as the file `_tollgate` of a folder in `fpath`. */
export const zsh = (entries: Entry[]): string => `#compdef tollgate
# zsh completion of tollgate: eval "$(tollgate completion zsh)"
_tollgate() {
  local word path_="" option="" known="${pathsOf(entries)}"
  local valued="${valuedOptions(entries)
    .map(({ name }) => name)
    .join('|')}"
  local -i index
  local -a suggestions
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    if [[ -n "$option" ]]; then option=""; continue; fi
    case "|$valued|" in *"|$word|"*) option="$word" ;; esac
    case "|$known|" in *"|\${path_:+$path_ }$word|"*) path_="\${path_:+$path_ }$word" ;; esac
  done
  if [[ -z "$option" && "\${words[CURRENT]}" == --*=* ]]; then
    option="\${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$option" in
    "") ;;
${valuedOptions(entries)
  .filter(({ value }) => value.choices.length > 0)
  .map(({ name, value }) => `    ${name}) compadd -- ${value.choices.join(' ')}; return ;;`)
  .join('\n')}
    ${valuedOptions(entries)
      .filter(({ value }) => value.isFile)
      .map(({ name }) => name)
      .join('|')}) _files; return ;;
    *) _message value; return ;;
  esac
  case "$path_" in
${entries.map((entry) => `    "${entry.words}") suggestions=(${suggestionsOf(entry).join(' ')}) ;;`).join('\n')}
  esac
  _describe tollgate suggestions || _files
}
if [[ "\${funcstack[1]}" == _tollgate ]]; then _tollgate "$@"; else compdef _tollgate tollgate; fi
`

const suggestionsOf = ({ commands, options, values }: Entry): string[] => [
  ...[...commands, ...options].map(({ name, description }) =>
    quoted(`${name}:${description.replaceAll(':', '\\:')}`),
  ),
  ...values.flatMap(({ choices }) => choices),
]
