import { json, parse, UsageError, type Command, type Work } from './arguments'
import { SUSPENDED_HELP } from './cli-help'
import { suspendedText } from './suspended-assets'

function suspended(args: string[]): Work {
  const { values, positionals } = parse(args, { json: { type: 'boolean' } })
  const [stranger] = positionals
  if (stranger !== undefined) throw new UsageError(`assets suspended did not understand "${stranger}"`)
  return async ({ settlements }, { out }) => {
    const found = await settlements.suspendedAssets()
    out(values.json ? json({ assets: found }) : suspendedText(found))
    return 0
  }
}

export const assetCommands: Readonly<Record<string, Command>> = {
  suspended: { help: SUSPENDED_HELP, understand: suspended },
}
