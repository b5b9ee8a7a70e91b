import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { merchant } from '../../texts'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { ask } from '../api'
import { useAssets } from '../use-networks'
import { ResourceForm } from './resource-form'
import { emptyResource } from './resource-request'
import { RESOURCES } from './use-resources'

const texts = merchant.resources

export function NewResource() {
  const assets = useAssets()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  async function create(body: object) {
    await ask('POST', '/resources', { body })
    await queries.resetQueries({ queryKey: RESOURCES })
    navigate('/resources')
  }
  return (
    <Page title={texts.register} text={texts.text}>
      <Section title={texts.form.title}>
        <Loaded query={assets}>
          {(all) => {
            const accepted = all.filter(({ active }) => active)
            return (
              <ResourceForm
                assets={accepted}
                initial={emptyResource(accepted)}
                metadata={{}}
                action={texts.register}
                save={create}
              />
            )
          }}
        </Loaded>
      </Section>
    </Page>
  )
}
