import { quoted, valuedOptions, type Entry, type OptionSuggestion } from './entries'

export const fish = (
  entries: Entry[],
): string => `# fish completion of tollgate: tollgate completion fish | source
function __tollgate_at
    set -l path ""
    set -l option ""
    set -l known ${entries.map(({ words }) => `"${words}"`).join(' ')}
    set -l valued ${valuedOptions(entries)
      .map(({ name }) => name)
      .join(' ')}
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ""
            continue
        end
        contains -- $word $valued; and set option $word
        set -l next (string trim -- "$path $word")
        contains -- $next $known; and set path $next
    end
    test "$path" = "$argv[1]"
end
${entries.flatMap(linesOf).join('\n')}
`

function linesOf({ words, commands, options, values }: Entry): string[] {
  const at = `complete -c tollgate -n '__tollgate_at "${words}"'`
  const choices = values.flatMap((value) => value.choices)
  return [
    ...(values.some(({ isFile }) => isFile) ? [] : [`${at} -f`]),
    ...commands.map(({ name, description }) => `${at} -f -a ${name} -d ${quoted(description)}`),
    ...(choices.length > 0 ? [`${at} -f -a ${quoted(choices.join(' '))}`] : []),
    ...options.map((option) => `${at} ${flagsOf(option)} -d ${quoted(option.description)}`),
  ]
}

function flagsOf({ name, short, value }: OptionSuggestion): string {
  const names = `${short === undefined ? '' : `-s ${short} `}-l ${name.slice(2)}`
  if (!value) return names
  if (value.choices.length > 0) return `${names} -x -a ${quoted(value.choices.join(' '))}`
  return value.isFile ? `${names} -r -F` : `${names} -x`
}
