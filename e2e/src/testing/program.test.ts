import { spawn } from 'node:child_process'
import { follow } from './program'

const print = (...pieces: string[]) => {
  const script = `const print = ([piece, ...others]) => piece && process.stdout.write(piece, () => setTimeout(print, 20, others))
print(${JSON.stringify(pieces)})`
  return follow(spawn(process.execPath, ['-e', script]))
}

test.each([
  ['in one piece', ['at http://127.0.0.1:4021/']],
  ['in pieces', ['at http://127.', '0.0.1:4021/']],
  ['in colors', ['at \u001b[36mhttp://127.0.0.1:\u001b[1m4021\u001b[22m/\u001b[39m']],
  ['in pieces that split a color', ['at http://127.0.0.1:\u001b[', '1m4021\u001b[2', '2m/']],
])('a text that a program prints %s is said', async (_, pieces) => {
  const program = print(...pieces)
  await program.said('http://127.0.0.1:4021/')
  expect(await program.exited).toBe(0)
  expect(program.output()).toBe('at http://127.0.0.1:4021/')
})

test('a text that a program does not print until it ends is reported, with what it printed', async () => {
  await expect(print('one').said('two')).rejects.toThrow('It ended without saying "two":\none')
})
