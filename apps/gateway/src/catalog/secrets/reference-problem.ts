import { Environment } from '../../config'
import { referencesIn, withSecrets } from './secret-references'

const LOOKS_LIKE_REFERENCE = /\$\{|\$env:|(?:^|[/=?&\s])env:[A-Za-z_]|[/=?&\s]file:\//

/** Why the references of a text cannot be meant: one is misspelt and would be sent as it is, or names a secret of the gateway. */
export function problemOfReferences(text: string): string | undefined {
  if (LOOKS_LIKE_REFERENCE.test(withSecrets(text, () => 'x')))
    return 'must name a secret as ${env:NAME} or ${file:/path}'
  const own = referencesIn(text).find((reference) =>
    Object.hasOwn(Environment.shape, reference.slice('env:'.length)),
  )
  return own === undefined ? undefined : `${own} is the gateway’s own variable, and no secret of a provider`
}
