/** What the tests of the browser storage run in a page. */
export { browserStorage } from '../browser-storage.js'
export { guarantees } from './guarantees.js'
