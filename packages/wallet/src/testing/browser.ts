import * as browserTesting from '@tollgate/browser-testing'

export { describeInBrowser, INSECURE_HOST, type TestBrowser } from '@tollgate/browser-testing'

type BrowserOptions = Omit<Parameters<typeof browserTesting.openBrowser>[0], 'script' | 'folder'> & {
  entry: string
}

/** A browser whose pages have the exports of `entry`, a TypeScript module, on `window`. */
export const openBrowser = ({ entry, ...options }: BrowserOptions) =>
  browserTesting.openBrowser({
    script: `import * as exported from ${JSON.stringify(entry)}; Object.assign(window, exported)`,
    folder: __dirname,
    ...options,
  })
