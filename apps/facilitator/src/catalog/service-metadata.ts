import { isIP } from 'node:net'
import { z } from 'zod'

const Name = z.string().regex(/^[\x20-\x7e]{1,32}$/)
const MAX_TAGS = 5
const MAX_ICON_URL = 2_048
const LOOPBACK = /^(localhost|localhost\.localdomain|ip6-localhost|ip6-loopback)$/

export type ServiceMetadata = { serviceName?: string; tags?: string[]; iconUrl?: string }

/** By the rules of the extension `bazaar`: a member that breaks its rule is left out. */
export function readServiceMetadata(resource: Record<string, unknown>): ServiceMetadata {
  const name = Name.safeParse(resource.serviceName)
  const tags = tagsIn(resource.tags)
  const icon = iconUrlIn(resource.iconUrl)
  return {
    ...(name.success ? { serviceName: name.data } : {}),
    ...(tags.length > 0 ? { tags } : {}),
    ...(icon === undefined ? {} : { iconUrl: icon }),
  }
}

function tagsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  const tags = new Map<string, string>()
  for (const entry of value as unknown[]) {
    const { data: tag } = Name.safeParse(entry)
    if (tag !== undefined && !tags.has(tag.toLowerCase())) tags.set(tag.toLowerCase(), tag)
    if (tags.size === MAX_TAGS) break
  }
  return [...tags.values()]
}

/** `URL` percent-decodes the host, converts it to ASCII, and writes an IPv4 address of any form with dots. */
function iconUrlIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_ICON_URL || !/^https?:\/\/[\x21-\x7e]+$/i.test(value))
    return undefined
  if (!URL.canParse(value)) return undefined
  const { hostname, username, password } = new URL(value)
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0
  return username === '' && password === '' && !isAddress && !LOOPBACK.test(hostname) ? value : undefined
}
