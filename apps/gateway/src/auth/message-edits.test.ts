import fc from 'fast-check'
import { anyForm, anyEdit } from '../testing/messages'
import { parseMessage, type SignInMessage } from './message'

const linesOf = (text: string) => text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)

const valueIn = (text: string, label: string) =>
  new RegExp(String.raw`^[\s\p{Cf}]*${label}[\s\p{Cf}]*:[\s\p{Cf}]*(.*)$`, 'iu').exec(text)?.[1]

function fieldsOf(text: string, message: SignInMessage) {
  const isShort = text.includes('\nAddress: ')
  const written = (label: string, time: Date | undefined) => {
    const found = text
      .split('\n')
      .find((each) => each.startsWith(`${label}: `))
      ?.slice(label.length + 2)
    expect(found === undefined ? undefined : new Date(found)).toEqual(time)
    return found
  }
  return {
    Address: isShort ? message.address : undefined,
    Nonce: message.nonce,
    'Chain ID': message.chainId,
    'Issued At': written('Issued At', message.issuedAt),
    'Expiration Time': written('Expiration Time', message.expiresAt),
    'Not Before': written('Not Before', message.notBefore),
    URI: message.uri,
  }
}

describe('a sign-in message', () => {
  test('is parsed as by every other reader, whichever line ends that accepts', () => {
    let read = 0
    fc.assert(
      fc.property(anyForm, anyEdit, ({ text }, edit) => {
        const edited = edit(text).text
        const message = parseMessage(edited)
        if (!message) return
        read++
        for (const [label, value] of Object.entries(fieldsOf(edited, message))) {
          const found = linesOf(edited).flatMap((each) => valueIn(each, label)?.replace(/^cosmos:/, '') ?? [])
          expect([label, found]).toEqual([label, value === undefined ? [] : [value]])
        }
      }),
      { numRuns: 3_000 },
    )
    expect(read).toBeGreaterThan(100)
  })

  test('that is edited is rejected, or differs only in the edited field', () => {
    let read = 0
    fc.assert(
      fc.property(anyForm, anyEdit, ({ text, parts }, edit) => {
        const edited = edit(text)
        const message = parseMessage(edited.text)
        if (!message) return
        read++
        const names = Object.keys({ ...parts, ...message }) as (keyof SignInMessage)[]
        const differing = names.filter(
          (name) => JSON.stringify(message[name]) !== JSON.stringify(parts[name]),
        )
        expect(differing.filter((name) => !edited.fields.has(name))).toEqual([])
      }),
      { numRuns: 3_000 },
    )
    expect(read).toBeGreaterThan(100)
  })
})
