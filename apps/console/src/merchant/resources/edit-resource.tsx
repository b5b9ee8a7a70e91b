import { type RegisteredResource } from '@tollgate/protocol'
import { Alert, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { isolated } from '../../ui/isolated'
import { Loaded } from '../../ui/loaded'
import { Loading } from '../../ui/loading'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { ask } from '../api'
import { useAssets } from '../use-networks'
import { OwnershipProof } from './ownership'
import { ResourceForm } from './resource-form'
import { toResourceForm } from './resource-request'
import { RESOURCES, useResources } from './use-resources'

const texts = merchant.resources

/** The API has lists only: their pages are read until the resource is found. */
export function EditResource({ id }: { id: number }) {
  const { data, hasNextPage, isFetching, isError, error, fetchNextPage, refetch } = useResources()
  const resource = data?.pages.flat().find((one) => one.id === id)
  const isSearching = resource === undefined && hasNextPage && !isFetching && !isError
  useEffect(() => {
    if (isSearching) void fetchNextPage()
  }, [isSearching, fetchNextPage])
  if (resource !== undefined) return <Edit resource={resource} />
  return (
    <Page title={texts.edit}>
      {isError ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : isFetching || isSearching ? (
        <Loading />
      ) : (
        <Alert color="gray">{texts.absent}</Alert>
      )}
    </Page>
  )
}

function Edit({ resource }: { resource: RegisteredResource }) {
  const assets = useAssets()
  const queries = useQueryClient()
  async function save(body: object) {
    await ask('PUT', `/resources/${resource.id}`, { body })
    notifications.show({ message: texts.saved })
    await queries.invalidateQueries({ queryKey: RESOURCES })
  }
  return (
    <Page title={texts.edit} text={isolated(resource.resource)}>
      <Section title={texts.form.title}>
        <Text size="sm" c="dimmed" mb="md">
          {texts.notRemovable}
        </Text>
        <Loaded query={assets}>
          {(all) => (
            <ResourceForm
              assets={all}
              initial={toResourceForm(resource, all)}
              metadata={resource.metadata}
              action={texts.save}
              save={save}
            />
          )}
        </Loaded>
      </Section>
      <Section title={texts.ownership.title}>
        <OwnershipProof resource={resource} />
      </Section>
    </Page>
  )
}
