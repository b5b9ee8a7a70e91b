import { Button, Group, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState } from 'react'

type Props = {
  texts: { search: string; placeholder: string; find: string }
  /** What is searched for now. */
  current: string
  /** Gets the text without white space around. */
  search: (text: string) => void
}

/** A form of one field, which follows `current` until the reader types. */
export function SearchField({ texts, current, search }: Props) {
  const [text, setText] = useState(current)
  useEffect(() => setText(current), [current])

  function submit(event: { preventDefault: () => void }) {
    event.preventDefault()
    search(text.trim())
  }

  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          label={texts.search}
          placeholder={texts.placeholder}
          leftSection={<IconSearch size={16} aria-hidden />}
          type="search"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          flex={1}
          miw={0}
          spellCheck={false}
          autoComplete="off"
        />
        <Button type="submit">{texts.find}</Button>
      </Group>
    </form>
  )
}
