import { Button, type ButtonProps } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { type ComponentPropsWithRef } from 'react'
import { shortened } from '../../ui/format'

type Props = ButtonProps & ComponentPropsWithRef<'button'> & { address: string }

/** Further properties, `ref` too, are those of a button: a menu sets its own. */
export const ConnectedButton = ({ address, ...props }: Props) => (
  <Button variant="default" leftSection={<IconWallet size={16} aria-hidden />} {...props}>
    <span className="mono">{shortened(address, 4)}</span>
  </Button>
)
