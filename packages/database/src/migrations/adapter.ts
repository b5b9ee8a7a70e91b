import {
  ColumnTypeEnum,
  DriverAdapterError,
  type ColumnType,
  type SqlDriverAdapter,
  type SqlQuery,
} from '@prisma/driver-adapter-utils'
import { DatabaseError, types, type Client, type CustomTypesConfig } from 'pg'

/** The column types of Postgres's catalog and Prisma's own table, by oid; the engine reads any other as text. */
const columnTypes: Record<number, ColumnType> = {
  16: ColumnTypeEnum.Boolean,
  18: ColumnTypeEnum.Character,
  20: ColumnTypeEnum.Int64,
  21: ColumnTypeEnum.Int32,
  23: ColumnTypeEnum.Int32,
  26: ColumnTypeEnum.Int64,
  1000: ColumnTypeEnum.BooleanArray,
  1002: ColumnTypeEnum.TextArray,
  1003: ColumnTypeEnum.TextArray,
  1005: ColumnTypeEnum.Int32Array,
  1007: ColumnTypeEnum.Int32Array,
  1009: ColumnTypeEnum.TextArray,
  1016: ColumnTypeEnum.Int64Array,
  1184: ColumnTypeEnum.DateTime,
}

/** The engine requires RFC 3339. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === types.builtins.TIMESTAMPTZ
      ? (value: string) => new Date(value).toISOString()
      : (types.getTypeParser(oid, format) as unknown),
}

/**
 * The driver of Prisma's engine, on one session. `@prisma/adapter-pg` does not fit: it splits a script at every semicolon,
 * cannot read the catalog's "char", and its pool may leave the session that holds the migration lock.
 */
export function adapterOver(client: Client): SqlDriverAdapter {
  return {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    async queryRaw({ sql, args }: SqlQuery) {
      const { fields, rows } = await client
        .query<unknown[]>({ text: sql, values: args, rowMode: 'array', types: parsers })
        .catch(explain)
      return {
        columnNames: fields.map(({ name }) => name),
        columnTypes: fields.map(({ dataTypeID }) => columnTypes[dataTypeID] ?? ColumnTypeEnum.Text),
        rows,
      }
    },
    async executeRaw({ sql, args }: SqlQuery) {
      return (await client.query(sql, args).catch(explain)).rowCount ?? 0
    },
    /** One message to Postgres is one transaction, unless the script itself commits. */
    async executeScript(script) {
      await client.query(script).catch((error: unknown) => explain(error, script))
    },
    startTransaction: () => Promise.reject(new Error('The schema engine opens no transaction of its own')),
    getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
    dispose: () => Promise.resolve(),
  }
}

function explain(error: unknown, script?: string): never {
  if (!(error instanceof DatabaseError)) throw new DriverAdapterError({ kind: 'ConnectionClosed' })
  const { code = '', severity = 'ERROR', detail, column, hint, position } = error
  const line = script && position && script.slice(0, Number(position) - 1).split('\n').length
  const message = line ? `line ${line}: ${error.message}` : error.message
  throw new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint })
}
