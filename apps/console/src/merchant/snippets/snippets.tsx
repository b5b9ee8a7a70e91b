import { merchant } from '../../texts'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { useAssets } from '../use-networks'
import { SnippetBuilder } from './snippet-builder'
import { useFacilitator } from './use-facilitator'

export function Snippets() {
  const facilitator = useFacilitator()
  const { data: named = [] } = useAssets()
  return (
    <Page title={merchant.pages.snippets} text={merchant.snippets.text}>
      <Loaded query={facilitator} lines={8}>
        {({ baseUrl, assets }) => <SnippetBuilder facilitator={baseUrl} assets={assets} named={named} />}
      </Loaded>
    </Page>
  )
}
