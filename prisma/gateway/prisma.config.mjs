/** For Prisma's own command line, wherever its engine can be downloaded; the project itself does without. */
export default {
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  datasource: { url: process.env.DATABASE_URL },
}
