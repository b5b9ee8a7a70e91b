export { INSECURE_HOST, type TestBrowser, launchBrowser, openBrowser } from './browser'
export { describeInBrowser } from './chromium'
