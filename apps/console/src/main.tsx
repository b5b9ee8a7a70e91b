import './shell/initial.css'
import './shell/shell.css'
import { View } from '#view'
import { createRoot } from 'react-dom/client'
import { Providers } from './shell/providers'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <Providers>
    <View />
  </Providers>,
)
