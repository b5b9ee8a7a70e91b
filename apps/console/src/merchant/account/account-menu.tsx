import { Button, Menu } from '@mantine/core'
import { IconLogout, IconSettings, IconTool, IconUserCircle } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { merchant } from '../../texts'
import { signOut } from '../api'
import { useMe } from './use-me'

const texts = merchant.account

export function AccountMenu() {
  const { data: me } = useMe()
  const [, navigate] = useLocation()
  const leave = useMutation({ mutationFn: signOut })
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button
          variant="default"
          px="xs"
          aria-label={me === undefined ? texts.menu : texts.menuOf(me.email)}
          loading={leave.isPending}
        >
          <IconUserCircle size={18} aria-hidden />
          <span className="account-email">{me?.email}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {me !== undefined && <Menu.Label>{me.email}</Menu.Label>}
        <Menu.Item leftSection={<IconSettings size={16} aria-hidden />} onClick={() => navigate('/account')}>
          {merchant.pages.account}
        </Menu.Item>
        <Menu.Item leftSection={<IconTool size={16} aria-hidden />} onClick={() => navigate('/operator')}>
          {merchant.signIn.operator}
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => leave.mutate()}>
          {texts.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
