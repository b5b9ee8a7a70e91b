import { Route, Switch } from 'wouter'
import { NotFound } from '../shell/not-found'
import { Account } from './account/account'
import { ClientKeys } from './keys/client-keys'
import { CreateKey } from './keys/create-key'
import { Overview } from './overview/overview'
import { Recipients } from './recipients/recipients'
import { ReserveRecipient } from './recipients/reserve-recipient'
import { EditResource } from './resources/edit-resource'
import { NewResource } from './resources/new-resource'
import { Resources } from './resources/resources'
import { SettlementPage } from './settlements/settlement-page'
import { Settlements } from './settlements/settlements'
import { Snippets } from './snippets/snippets'
import { WebhookRoutes } from '../webhooks/webhook-routes'
import { webhookService } from './webhook-service'

export const Routes = () => (
  <Switch>
    <Route path="/" component={Overview} />
    <Route path="/settlements" component={Settlements} />
    <Route path="/settlements/:id">{({ id }) => <SettlementPage id={id} />}</Route>
    <Route path="/keys" component={ClientKeys} />
    <Route path="/keys/new" component={CreateKey} />
    <Route path="/recipients" component={Recipients} />
    <Route path="/recipients/new" component={ReserveRecipient} />
    <Route path="/snippets" component={Snippets} />
    <Route path="/webhooks/*?">
      <WebhookRoutes service={webhookService} />
    </Route>
    <Route path="/resources" component={Resources} />
    <Route path="/resources/new" component={NewResource} />
    <Route path="/resources/:id">{({ id }) => <EditResource id={Number(id)} />}</Route>
    <Route path="/account" component={Account} />
    <Route component={NotFound} />
  </Switch>
)
