export type OutputStream = {
  write(text: string, written?: (error?: Error | null) => void): unknown
  isTTY?: boolean
  columns?: number
}

/** What the program uses of its process. */
export type Terminal = {
  environment: Readonly<Record<string, string | undefined>>
  stdin: NodeJS.ReadStream
  stdout: OutputStream
  stderr: OutputStream
  /** Calls `listener` once, with the exit code, when the process is asked to end (Ctrl-C); the result stops that. */
  onStop(listener: (exitCode: number) => void): () => void
}

/** Secrets that were read, so that no output contains one of them. */
export type Secrets = ReturnType<typeof createSecrets>

const SHORTEST = 4

export function createSecrets() {
  const keys = new Set<string>()
  const passwords = new Set<string>()
  const addTo = (set: Set<string>) => (secret: string) => {
    const bare = secret.trim()
    if (bare.length >= SHORTEST) set.add(bare)
    return secret
  }
  const without = (text: string, secrets: Iterable<string>) =>
    [...secrets].reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text)

  return {
    /** A private key or a mnemonic. Returns it. */
    addKey(key: string): string {
      addTo(keys)(key.replace(/^\s*0x/i, ''))
      return key
    },
    /** Returns it. */
    addPassword: addTo(passwords),
    redactKeys: (text: string) => without(text, keys),
    /** Ignores letter case. */
    hasKeyIn: (text: string) => [...keys].some((key) => text.toLowerCase().includes(key.toLowerCase())),
    /** Serves messages only: a result may have the same word as a password. */
    redact: (text: string) => without(text, [...keys, ...passwords]),
  }
}
