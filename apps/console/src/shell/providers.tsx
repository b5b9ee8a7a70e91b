import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode } from 'react'
import { Router } from 'wouter'
import { createQueries } from '../api/queries'
import { ErrorBoundary } from './error-boundary'
import { useFragmentLocation } from './fragment-location'
import { resolveVariables, theme } from './theme'

const queries = createQueries()
const colorScheme = localStorageColorSchemeManager({ key: 'tollgate-color-scheme' })

/** The nonce of this response; scripts cannot read it from the attribute (HTML, "nonce hiding"). */
const styleNonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
// Of the styles by which an open dialog stops the page behind it from scrolling (package get-nonce).
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

export function Providers({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colorScheme}
      getStyleNonce={() => styleNonce}
    >
      <ErrorBoundary>
        <QueryClientProvider client={queries}>
          <Router hook={useFragmentLocation}>{children}</Router>
        </QueryClientProvider>
      </ErrorBoundary>
    </MantineProvider>
  )
}
