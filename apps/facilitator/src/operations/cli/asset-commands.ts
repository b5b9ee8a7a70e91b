import { parseOptions, UsageError } from '@tollgate/service'
import { json, type Command, type Work } from './arguments'
import { SUSPENDED_HELP } from './cli-help'
import { suspendedText } from '../monitoring/suspended-assets'

function suspended(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { json: { type: 'boolean' } })
  const [unexpected] = positionals
  if (unexpected !== undefined) throw new UsageError(`assets suspended did not understand "${unexpected}"`)
  return async ({ settlements }, { out }) => {
    const found = await settlements.suspendedAssets()
    out(values.json ? json({ assets: found }) : suspendedText(found))
    return 0
  }
}

export const assetCommands: Readonly<Record<string, Command>> = {
  suspended: { help: SUSPENDED_HELP, parse: suspended },
}
