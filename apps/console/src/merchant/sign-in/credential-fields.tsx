import { PasswordInput, TextInput } from '@mantine/core'
import { type ComponentProps } from 'react'
import { merchant, shared } from '../../texts'

type Props = ComponentProps<typeof TextInput>

const MIN_PASSWORD_LENGTH = 8

export const checkPassword = (password: string) =>
  password.length < MIN_PASSWORD_LENGTH ? merchant.signIn.passwordShort : null

export const EmailField = (props: Props) => (
  <TextInput
    label={merchant.signIn.email}
    type="email"
    name="email"
    autoComplete="username"
    required
    withAsterisk={false}
    {...props}
  />
)

/** `isNew`: password managers then offer one. */
export const PasswordField = ({
  isNew = false,
  ...props
}: ComponentProps<typeof PasswordInput> & { isNew?: boolean }) => (
  <PasswordInput
    label={isNew ? merchant.signIn.newPassword : merchant.signIn.password}
    {...(isNew ? { description: merchant.signIn.passwordHint } : {})}
    name={isNew ? 'new-password' : 'password'}
    autoComplete={isNew ? 'new-password' : 'current-password'}
    visibilityToggleButtonProps={{ 'aria-label': shared.showPassword, tabIndex: 0 }}
    required
    withAsterisk={false}
    {...props}
  />
)
