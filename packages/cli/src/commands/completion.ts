import { Argument, type Command } from 'commander'
import { completionScript, SHELLS, type Shell } from '../completion/completion-script'
import { type Run } from '../run-command'
import { describe } from './help'

export const completionCommand = (run: Run, program: Command): Command =>
  describe(
    'completion',
    'Print a script that completes commands and options in a shell',
    'eval "$(tollgate completion bash)"',
    'tollgate completion fish > ~/.config/fish/completions/tollgate.fish',
  )
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action(
      run<unknown, [shell: Shell]>(({ terminal, words: [shell] }) => {
        terminal.stdout.write(completionScript(program, shell))
        return Promise.resolve()
      }),
    )
