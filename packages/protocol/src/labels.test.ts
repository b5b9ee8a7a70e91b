import { CreateClientRequest, NewAccessKey, NewWalletWebhook, NewWebhook } from '.'

const hook = { url: 'https://shop.example/hooks' }

/** Each schema with a label as its only variable member. */
const labels = {
  'the title of a client key': (title: string) => CreateClientRequest.safeParse({ title }),
  'the label of an access key': (label: string) => NewAccessKey.safeParse({ label }),
  'the description of a webhook of a user': (description: string) =>
    NewWebhook.safeParse({ ...hook, description }),
  'the description of a webhook of a wallet': (description: string) =>
    NewWalletWebhook.safeParse({ ...hook, description }),
}

describe.each(Object.entries(labels))('%s', (_, parse) => {
  test.each(['Größe 大きさ ❤️ 😀', 'متجر الطقس', "O'Brien & Co."])('takes %j', (label) => {
    expect(parse(label).error?.issues ?? []).toEqual([])
  })

  test.each([
    'pay\u202eelpmaxe.pohs',
    'a\u200fb',
    'a\u2066b\u2069',
    'a\u200bb',
    'a\ufeffb',
    'a\u00adb',
    'a\u{e0041}b',
    'a\u2028b',
    'a\u0000b',
    'a\nb',
  ])('refuses the invisible characters of %j', (label) => expect(parse(label).success).toBe(false))
})
