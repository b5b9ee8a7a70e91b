const RECIPIENTS = {
  evm: '0x52908400098527886E0F7030069857D2E4169EE7',
  cosmos: 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk',
} as const

/** A catalog of this repository, with an address in each plan. */
export function withRecipients(catalog: string): string {
  let recipient: string = RECIPIENTS.evm
  return catalog
    .split('\n')
    .map((line) => {
      const ecosystem = /^ +ecosystem: (evm|cosmos)$/.exec(line)?.[1]
      if (ecosystem) recipient = RECIPIENTS[ecosystem as keyof typeof RECIPIENTS]
      return line.replace('REPLACE_WITH_YOUR_ADDRESS', `'${recipient}'`)
    })
    .join('\n')
}
