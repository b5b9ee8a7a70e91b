import { parseOptions, UsageError } from '@tollgate/service'
import { auditLedger, auditText } from '../accounts/audit-report'
import { AUDIT_HELP } from './cli-help'
import { type Command, databaseUrl, withDatabase } from './command'

/** It reads whole tables. */
const STATEMENT_TIMEOUT_MS = 3_600_000

export const auditCommand: Command = {
  help: AUDIT_HELP,
  async run(args, io) {
    const [unexpected] = parseOptions(args, {}).positionals
    if (unexpected !== undefined) throw new UsageError(`unexpected "${unexpected}"`)
    const options = { url: databaseUrl(io), statementTimeoutMs: STATEMENT_TIMEOUT_MS }
    return withDatabase(options, io, async (database) => {
      const report = await auditLedger(database)
      io.out(auditText(report))
      return report.violationCount === 0 ? 0 : 1
    })
  },
}
