/** All English of the pages, by view. A text with a number or a name in it is a function. */

export const shared = {
  skipToContent: 'Skip to the page',
  menu: 'Menu',
  pages: 'Pages',
  useDark: 'Use dark colours',
  useLight: 'Use light colours',
  loading: 'Loading',
  retry: 'Try again',
  copy: 'Copy',
  copied: 'Copied',
  cancel: 'Cancel',
  close: 'Close',
  none: 'none',
  openExplorer: 'Open in the block explorer',
  downloadCsv: 'Download CSV',
  showTable: 'Show the numbers as a table',
  loadMore: 'Load more',
  rows: (shown: string) => `${shown} rows`,
  allRows: (shown: string) => `${shown} rows, all of them`,
  crashed: {
    title: 'This page has failed',
    text: 'Reload it. Payments and settings are kept by the service and by your wallet, not by this page.',
    reload: 'Reload',
  },
  failed: {
    title: 'That did not work',
    unreachable: 'The service cannot be reached. Your input is kept; try again when you are online.',
    timeout: 'The service did not answer in time. Your input is kept; try again.',
    malformed:
      'The service gave an answer that this page does not understand. Reload the page: it may be of an older version.',
    requestId: (id: string) => `Request ${id}`,
  },
  secret: {
    once: 'Copy it now: it is not shown again.',
    done: 'I have stored it',
  },
} as const
