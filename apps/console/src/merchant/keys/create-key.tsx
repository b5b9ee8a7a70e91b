import { Anchor, Group } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { merchant } from '../../texts'
import { Page } from '../../ui/page'
import { SecretOnce } from '../../ui/secret-once'
import { Status } from '../../ui/status'
import { Section } from '../../ui/section'
import { CreateKeyForm, type CreatedKey } from './create-key-form'

const texts = merchant.keys

export function CreateKey() {
  const [created, setCreated] = useState<CreatedKey>()
  const [, navigate] = useLocation()
  return (
    <Page
      title={texts.createTitle}
      text={
        <Anchor component={Link} href="/keys" size="sm">
          {texts.toList}
        </Anchor>
      }
    >
      {created === undefined && (
        <Section title={texts.form.title}>
          <CreateKeyForm onCreated={setCreated} />
        </Section>
      )}
      <Status>
        {created && (
          <SecretOnce
            title={texts.created(created.title)}
            secrets={[
              ['CLIENT_ID', created.clientId],
              ['CLIENT_TOKEN', created.token],
            ]}
            onDone={() => navigate('/keys')}
          />
        )}
      </Status>
      {created && (
        <Group>
          <Anchor component={Link} href="/snippets">
            {texts.toSnippets}
          </Anchor>
        </Group>
      )}
    </Page>
  )
}
