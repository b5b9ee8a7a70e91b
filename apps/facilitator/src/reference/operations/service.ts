import { FacilitatorHealth } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'

const tag = 'Service'

export const serviceOperations: Operation[] = [
  {
    id: 'getHealth',
    method: 'get',
    path: '/health',
    tag,
    summary: 'Ask whether this replica serves.',
    answers: { 200: { description: 'It does.', schema: FacilitatorHealth } },
    errors: { UNAVAILABLE: 'It is stopping.' },
  },
  {
    id: 'getReadiness',
    method: 'get',
    path: '/ready',
    tag,
    summary: 'Ask whether this replica and its database serve.',
    answers: { 200: { description: 'They do.', schema: FacilitatorHealth } },
    errors: { UNAVAILABLE: 'It is stopping, or its database does not answer.' },
  },
  {
    id: 'getOpenApi',
    method: 'get',
    path: '/openapi.json',
    tag,
    summary: 'Get this reference as an OpenAPI 3.1 document.',
    answers: {
      200: {
        description: 'The document.',
        schema: z.looseObject({ openapi: z.string() }).meta({ examples: [{ openapi: '3.1.0' }] }),
      },
    },
  },
  {
    id: 'getDocs',
    method: 'get',
    path: '/docs',
    tag,
    summary: 'Read this reference as a page.',
    answers: {
      200: {
        description: 'The page.',
        contentType: 'text/html',
        schema: z.string().meta({ examples: ['<!doctype html>'] }),
      },
    },
  },
  {
    id: 'getLlmsText',
    method: 'get',
    path: '/llms.txt',
    tag,
    summary: 'Read how to use this service, in brief, for language models.',
    answers: {
      200: {
        description: 'The text, in Markdown.',
        contentType: 'text/plain',
        schema: z.string().meta({ examples: ['# Tollgate facilitator'] }),
      },
    },
  },
]
