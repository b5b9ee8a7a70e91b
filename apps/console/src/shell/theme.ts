import {
  createTheme,
  type CSSVariablesResolver,
  type MantineColorsTuple,
  type MantineThemeComponent,
} from '@mantine/core'
import { shared } from '../texts'

/** White text on shade 7, and shade 7 on white, have a contrast above 4.5 (WCAG 2.2, 1.4.3). */
const petrol: MantineColorsTuple = [
  '#e3f8fb',
  '#c8edf3',
  '#9adbe6',
  '#68c8d9',
  '#3fb4ca',
  '#1d9db6',
  '#0f859d',
  '#0b7285',
  '#095c6c',
  '#064552',
]

export const theme = createTheme({
  primaryColor: 'petrol',
  primaryShade: { light: 7, dark: 7 },
  colors: { petrol },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.6rem' }, h2: { fontSize: '1.2rem' } } },
  components: {
    // Not by Modal.extend, which would load its code before a dialog opens.
    Modal: {
      defaultProps: {
        centered: true,
        closeButtonProps: { 'aria-label': shared.close },
        // Its element is `header`, which would be a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
    } satisfies MantineThemeComponent,
    // What opens is in a landmark of the page, as axe demands.
    Popover: { defaultProps: { portalProps: { target: '#main' } } },
    Tooltip: { defaultProps: { portalProps: { target: '#main' } } },
    // The first item gets the focus, not an element that is no item.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
})

/** Of a filled button, with white text. */
const reds = { '--mantine-color-red-filled': '#c92a2a', '--mantine-color-red-filled-hover': '#b02525' }

/** Mantine's own dimmed text, errors, and text on a light colour are too pale (WCAG 2.2, 1.4.3). */
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...reds,
    '--mantine-color-dimmed': '#5c6370',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-green-light-color': '#14532d',
    '--mantine-color-yellow-light-color': '#6b4a00',
    '--mantine-color-red-light-color': '#8a1c1c',
  },
  dark: { ...reds, '--mantine-color-dimmed': '#a6adbb', '--mantine-color-error': '#ff8787' },
})
