import { Page } from '../ui/page'

export const OperatorView = () => <Page title="Operator">…</Page>
