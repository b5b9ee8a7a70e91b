import { type Command } from 'commander'
import { bash } from './bash'
import { entriesOf, type Entry } from './entries'
import { fish } from './fish'
import { zsh } from './zsh'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

const scripts: Record<Shell, (entries: Entry[]) => string> = { bash, zsh, fish }

/** A script that completes commands, options, and values that can be listed. */
export const completionScript = (program: Command, shell: Shell): string => scripts[shell](entriesOf(program))
