import { Command } from 'commander'
import { mcpCommand } from '../../commands/mcp'
import { openTestClient } from './open-client'

/** `tollgate mcp` alone, with a wallet in memory. */
void new Command('tollgate')
  .addCommand(mcpCommand({ openClient: openTestClient, version: '0.1.0' }))
  .parseAsync()
