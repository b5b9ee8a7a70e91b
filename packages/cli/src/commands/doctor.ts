import { type Command } from 'commander'
import { diagnose, type Finding } from '../doctor/diagnose'
import { EXIT } from '../exit-codes'
import { type Colors } from '../output/output'
import { printable } from '../output/printable'
import { type Run } from '../run-command'
import { describe } from './help'

export const doctorCommand = (run: Run): Command =>
  describe(
    'doctor',
    'Find what is wrong between here and the gateway. Signs in, and pays nothing',
    'tollgate doctor --url https://gateway.example --keystore wallet.json',
  ).action(
    run(async (context) => {
      const { output } = context
      const findings: Finding[] = []
      for await (const finding of diagnose(context)) {
        findings.push(finding)
        if (!output.isJson) output.line(finding, (colors) => lineOf(colors, finding))
      }
      const isHealthy = findings.every(({ state }) => state !== 'wrong')
      if (output.isJson) {
        const checks = findings.map(({ exitCode: _, ...rest }) => rest)
        output.result({ healthy: isHealthy, checks }, () => '')
      }
      return findings.find(({ state }) => state === 'wrong')?.exitCode ?? EXIT.OK
    }),
  )

function lineOf(colors: Colors, { check, state, message, advice }: Finding): string {
  const marks = { ok: colors.green('ok     '), wrong: colors.red('wrong  '), skipped: colors.dim('skipped') }
  const line = `${marks[state]}  ${check}: ${printable(message)}`
  return advice ? `${line}\n         ${printable(advice)}` : line
}
