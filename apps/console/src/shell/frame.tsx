import { Alert, Anchor, AppShell, Burger, Group, NavLink, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ComponentType, type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { shared } from '../texts'
import { useIsOnline } from '../ui/use-is-online'
import { ColorSchemeButton } from './color-scheme-button'
import icon from './icon.svg'

export type NavItem = {
  path: string
  label: string
  icon: ComponentType<{ size?: number }>
  /** Only the page of `path` is current, not those below it. */
  isExact?: boolean
}

type FrameProps = {
  /** Beside the logo: whose pages these are. */
  title: string
  items: readonly NavItem[]
  /** Right of the title: the wallet or the account. */
  account?: ReactNode
  children: ReactNode
}

/** The frame of all pages: header, navigation (a drawer below 768 pixels), and the page as `main`. */
export function Frame({ title, items, account, children }: FrameProps) {
  const [isOpen, { close, toggle }] = useDisclosure(false)
  const [location] = useLocation()
  const isOnline = useIsOnline()
  useEffect(() => close(), [close, location])
  const button = useRef<HTMLButtonElement>(null)
  useCloseOnEscape(isOpen, () => {
    close()
    button.current?.focus()
  })

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip-link" href="#main" onClick={focusMain}>
        {shared.skipToContent}
      </a>
      <AppShell.Header>
        <Group h="100%" px="sm" gap="xs" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Burger
              ref={button}
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={shared.menu}
              aria-expanded={isOpen}
            />
            <Anchor component={Link} href="/" className="logo" underline="never" c="inherit">
              <img src={icon} alt="Tollgate" width={26} height={26} />
              <Text fw={700} component="span" visibleFrom="xs" aria-hidden>
                Tollgate
              </Text>
              <Text c="dimmed" component="span" visibleFrom="md" truncate>
                {title}
              </Text>
            </Anchor>
          </Group>
          <Group gap="xs" wrap="nowrap">
            {account}
            <ColorSchemeButton />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={shared.pages} className={isOpen ? undefined : 'nav-closed'}>
        {items.map(({ path, label, icon: Icon, isExact = path === '/' }) => (
          <NavLink
            key={path}
            component={Link}
            href={path}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={isCurrent(path, location, isExact)}
            aria-current={isCurrent(path, location, isExact) ? 'page' : undefined}
            className="nav-link"
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        {!isOnline && <Alert color="yellow" role="status" mb="md" title={shared.offline} />}
        {children}
      </AppShell.Main>
    </AppShell>
  )
}

function useCloseOnEscape(isOpen: boolean, close: () => void) {
  useEffect(() => {
    if (!isOpen) return undefined
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && close()
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
}

const isCurrent = (path: string, location: string, isExact: boolean) =>
  location === path || (!isExact && location.startsWith(`${path}/`))

/** The address has the page in its fragment, so the browser cannot follow a link to an element. */
function focusMain(event: { preventDefault: () => void }) {
  event.preventDefault()
  document.getElementById('main')?.focus()
}
