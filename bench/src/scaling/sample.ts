import { type Row } from '../row'

/** Rows as `paid-calls` and `replicas` write them, for tests. */
const row = (benchmark: string, figures: Record<string, number>): Row => ({
  benchmark,
  measured: 'paid POST /rpc',
  against: 'a peer',
  ratio: 1,
  reach: '>= 0.60',
  met: true,
  figures,
  machine: { cores: 2, model: 'a model', memory: '8.0 GiB', kernel: 'Linux 6' },
  versions: {},
  command: 'pnpm bench',
  commit: '0123456789',
  date: '2026-11-24',
})

export const sampleRows: readonly Row[] = [
  row('paid-calls', {
    'tollgate calls/s': 2_700,
    'tollgate gateway CPU s per 1,000 calls': 0.35,
    'tollgate Postgres CPU s per 1,000 calls': 0.1,
    'tollgate Redis CPU s per 1,000 calls': 0.03,
    'tollgate WAL bytes per call': 600,
    'tollgate Redis commands per call': 1,
  }),
  row('replicas', {
    'one gateway calls/s': 2_600,
    'two gateways calls/s': 3_300,
    'four gateways calls/s': 3_100,
    'other CPU s per 1,000 calls': 0.1,
  }),
]
