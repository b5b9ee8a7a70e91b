import { Button, type ButtonProps } from '@mantine/core'
import { useMergedRef } from '@mantine/hooks'
import { IconWallet } from '@tabler/icons-react'
import { type ComponentPropsWithRef, useEffect, useRef } from 'react'
import { shortened } from '../../ui/format'
import { useWallet } from './wallet-context'

type Props = ButtonProps & ComponentPropsWithRef<'button'> & { address: string }

/** Further properties, `ref` too, are those of a button: a menu sets its own. */
export function ConnectedButton({ address, ref, ...props }: Props) {
  const { isNew } = useWallet()
  const button = useRef<HTMLButtonElement>(null)
  const merged = useMergedRef(button, ref)
  // What was pressed to connect is gone, and the focus with it.
  useEffect(() => {
    if (isNew && document.activeElement === document.body) button.current?.focus()
  }, [isNew])
  return (
    <Button variant="default" leftSection={<IconWallet size={16} aria-hidden />} ref={merged} {...props}>
      <span className="mono">{shortened(address, 4)}</span>
    </Button>
  )
}
