import { Route, Switch } from 'wouter'
import { NotFound } from '../shell/not-found'
import { DeliveryPage } from './delivery-page'
import { EditWebhook } from './edit-webhook'
import { NewWebhook } from './new-webhook'
import { WebhookPage } from './webhook-page'
import { type WebhookService, WebhookServiceProvider } from './webhook-service'
import { Webhooks } from './webhooks'

/** The pages below `/webhooks`. */
export const WebhookRoutes = ({ service }: { service: WebhookService }) => (
  <WebhookServiceProvider service={service}>
    <Switch>
      <Route path="/webhooks" component={Webhooks} />
      <Route path="/webhooks/new" component={NewWebhook} />
      <Route path="/webhooks/:id">{({ id }) => <WebhookPage id={id} />}</Route>
      <Route path="/webhooks/:id/edit">{({ id }) => <EditWebhook id={id} />}</Route>
      <Route path="/webhooks/:id/deliveries/:deliveryId">
        {({ id, deliveryId }) => <DeliveryPage webhookId={id} id={deliveryId} />}
      </Route>
      <Route component={NotFound} />
    </Switch>
  </WebhookServiceProvider>
)
