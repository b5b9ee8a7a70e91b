import * as service from '.'

test('exports these names and no others', () => {
  expect(Object.keys(service).sort()).toMatchInlineSnapshot(`
   [
     "ApiError",
     "ConfigurationError",
     "DEVELOPMENT_SECRET_PREFIX",
     "addressKey",
     "arrivedAt",
     "closeServer",
     "createApp",
     "createHealth",
     "createLimiter",
     "createLogger",
     "createMetrics",
     "createOpenApi",
     "createRateLimit",
     "createReference",
     "createServer",
     "env",
     "flushed",
     "listen",
     "memberTexts",
     "noteOtherMethods",
     "openEphemeralStore",
     "operationsOf",
     "parse",
     "rawMember",
     "readEnvironment",
     "repeat",
     "requestId",
     "responseAt",
     "run",
     "statusOf",
   ]
  `)
})
