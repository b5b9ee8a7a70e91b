import { merchant } from '../../texts'

const texts: Record<string, string> = merchant.reasons

/** A reason in words; one that this page does not know, as the service has it. */
export const reasonText = (reason: string): string => texts[reason] ?? reason.replaceAll('_', ' ')
