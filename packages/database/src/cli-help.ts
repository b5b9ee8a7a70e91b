export type Command = 'migrate' | 'create' | 'diff' | 'check' | 'resolve'

const folder = `  --migrations FOLDER   where the migrations are; or MIGRATIONS_DIR; else prisma/<service>/migrations of the checkout`

const texts: Record<Command, { usage: string; says: string; options?: string }> = {
  migrate: {
    usage: 'migrate <gateway|facilitator>',
    says: `Applies the migrations that the database has not seen; does nothing if there are none. Waits for Postgres for
up to a minute, and for another migrator up to five. Refuses, and applies nothing, if an applied migration
was edited, one failed, or the folder lacks one. Needs a direct connection, or a pooler in session mode.`,
    options: folder,
  },
  create: {
    usage: 'create <gateway|facilitator>',
    says: 'Creates the database that DATABASE_URL names if it is missing. For development: its user must be allowed to.',
  },
  diff: {
    usage: 'diff <gateway|facilitator> --name NAME',
    says: `Writes the difference between the migrations and schema.prisma as a new migration, and applies nothing. Uses a
scratch database on the server of DATABASE_URL, and drops it.`,
    options: `  --name NAME           what it does: small letters, digits, underscores\n${folder}`,
  },
  check: {
    usage: 'check <gateway|facilitator>',
    says: `Fails, and prints the SQL that is missing, if schema.prisma is ahead of the migrations or they do not apply to an
empty database. Sees what a Prisma schema can say; functions, triggers, checks, partial and expression indexes
are not compared. Uses a scratch database on the server of DATABASE_URL, and drops it.`,
    options: folder,
  },
  resolve: {
    usage: 'resolve <gateway|facilitator> (--rolled-back | --applied) MIGRATION',
    says: 'Marks a migration that failed, after you have looked: nothing of it is in the database, or all of it is.',
    options: `  --rolled-back NAME    nothing of it is there; migrate will run it again
  --applied NAME        all of it is there; migrate will go on with the next
${folder}`,
  },
}

export function help(command?: Command): string {
  const environment = `Environment:\n  DATABASE_URL          postgresql://USER:PASSWORD@HOST:5432/DATABASE`
  if (command) {
    const { usage, says, options } = texts[command]
    return [`tollgate-database ${usage}`, says, options && `Options:\n${options}`, environment]
      .filter(Boolean)
      .join('\n\n')
  }
  const list = Object.values(texts).map(({ usage }) => `  tollgate-database ${usage}`)
  return [
    'The databases of Tollgate: their migrations.',
    list.join('\n'),
    `${environment}\n  MIGRATIONS_DIR        where the migrations are, if not in a checkout`,
    'Exit codes: 0 done, 1 refused or failed, 2 not understood, 130 stopped. More: tollgate-database <command> --help',
  ].join('\n\n')
}
