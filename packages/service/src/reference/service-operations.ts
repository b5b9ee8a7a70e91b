import { z } from 'zod'
import { type Operation } from './operation'

export function serviceOperations(tag: string, { title, health }: { title: string; health: z.ZodType }) {
  return [
    {
      id: 'getHealth',
      method: 'get',
      path: '/health',
      tag,
      summary: 'Check that this replica is running.',
      answers: { 200: { description: 'It is running.', schema: health } },
      errors: { UNAVAILABLE: 'It is stopping.' },
    },
    {
      id: 'getReadiness',
      method: 'get',
      path: '/ready',
      tag,
      summary: 'Check that this replica and its database are ready.',
      answers: { 200: { description: 'They are ready.', schema: health } },
      errors: { UNAVAILABLE: 'It is stopping, or its database does not respond.' },
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
      summary: 'Read a summary of this service for language models.',
      answers: {
        200: {
          description: 'The text, in Markdown.',
          contentType: 'text/plain',
          schema: z.string().meta({ examples: [`# ${title}`] }),
        },
      },
    },
  ] satisfies Operation[]
}
