/** What a person at the screen is told. */
export const screen = {
  title: (text: string) => print(process.stdout, `\n${text}`),
  /** A fact beside its name, in columns. */
  fact: (name: string, fact: string) => print(process.stdout, `  ${name.padEnd(12)} ${fact}`),
  warn: (text: string) => print(process.stderr, `! ${text}`),
}

function print(stream: NodeJS.WritableStream, line: string) {
  stream.write(`${line}\n`)
}

/** Does a step and says how long it took. */
export async function timed<T>(
  name: string,
  work: () => Promise<T>,
  fact: (result: T) => string,
): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  screen.fact(name, `${fact(result)} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return result
}
