import react from '@vitejs/plugin-react'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What the pages of each service start with. */
const views = { gateway: './src/buyer/view.tsx', facilitator: './src/merchant/view.tsx' }
const services = { gateway: 'http://127.0.0.1:8080', facilitator: 'http://127.0.0.1:8081' }

/** In index.html. */
const heads = {
  gateway: {
    VITE_TITLE: 'Tollgate: your credits',
    VITE_DESCRIPTION: 'Buy credits with your wallet, make calls, and see what they cost',
  },
  facilitator: {
    VITE_TITLE: 'Tollgate: your payments',
    VITE_DESCRIPTION: 'Settlements, client keys and webhooks of merchants, and the pages of the operator',
  },
}

type Service = keyof typeof views

function serviceOf(mode: string): Service {
  if (mode in views) return mode as Service
  throw new Error(`--mode must be one of ${Object.keys(views).join(', ')}`)
}

/** All addresses in the pages are relative, so that a proxy may serve them below a prefix. */
export default defineConfig(({ mode, command }) => {
  const service = serviceOf(mode)
  Object.assign(process.env, heads[service])
  return {
    base: command === 'build' ? './' : '/console/',
    plugins: [react()],
    resolve: {
      alias: { '#view': at(views[service]), '@tollgate/wallet': at('../../packages/wallet/src/index.ts') },
    },
    // The service puts a new nonce in its place for each response.
    html: { cspNonce: '__CSP_NONCE__' },
    build: {
      outDir: `dist/${service}`,
      target: 'es2022',
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      chunkSizeWarningLimit: 700,
      modulePreload: { polyfill: false },
      // The release reads which packages the pages contain, and their licenses.
      license: { fileName: 'licenses.json' },
      rolldownOptions: {
        // One file for what every page needs: each further one costs a slow connection a round trip.
        output: { codeSplitting: { groups: [{ name: 'initial', tags: ['$initial'] }] } },
      },
    },
    server: { proxy: { '^/(?!console/)': services[service] } },
  }
})
