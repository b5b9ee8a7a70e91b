export const terminal = {
  title: (text: string) => print(process.stdout, `\n${text}`),
  fact: (name: string, fact: string) => print(process.stdout, `  ${name.padEnd(12)} ${fact}`),
  warn: (text: string) => print(process.stderr, `! ${text}`),
}

function print(stream: NodeJS.WritableStream, line: string) {
  stream.write(`${line}\n`)
}

/** Runs a step and prints its result and duration. */
export async function timed<T>(
  name: string,
  work: () => Promise<T>,
  fact: (result: T) => string,
): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  terminal.fact(name, `${fact(result)} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return result
}
