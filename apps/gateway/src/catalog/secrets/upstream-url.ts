import { z } from 'zod'
import { problemOfReferences } from './reference-problem'
import { asReference, isReference, withSecrets } from './secret-references'

/** A base URL whose references have been replaced. */
export const ResolvedUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://node.example/path' })
  .max(2048)
  .regex(/^[\x21-\x7e]*$/, 'must be an address without spaces and in ASCII')
  .refine((url) => !hasCredentials(url), 'must hold no user or password; send them by headers')
  .refine((url) => !url.includes('#'), 'must hold no #')

function hasCredentials(text: string) {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

/** A URL of the same form without references, from which nothing follows for a URL that is one reference. */
export const withPlaceholders = (url: string): string =>
  isReference(url) ? 'https://secret.invalid' : withSecrets(url, () => 'x')

/** A base URL in a catalog: parts of it, or all, may be references to secrets. */
export const UpstreamUrl = z
  .string()
  .transform(asReference)
  .superRefine((url, context) => {
    const problem = problemOfReferences(url)
    if (problem) context.addIssue({ code: 'custom', message: problem })
    else
      for (const { message } of ResolvedUrl.safeParse(withPlaceholders(url)).error?.issues ?? [])
        context.addIssue({ code: 'custom', message })
  })
