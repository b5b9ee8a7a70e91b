import * as service from '.'

test('exports these names and no others', () => {
  expect(Object.keys(service).sort()).toMatchInlineSnapshot(`
   [
     "ApiError",
     "ConfigurationError",
     "DEVELOPMENT_SECRET_PREFIX",
     "addressKey",
     "closeServer",
     "createApp",
     "createHealth",
     "createLimiter",
     "createLogger",
     "createMetrics",
     "createRateLimit",
     "createServer",
     "env",
     "flushed",
     "listen",
     "noteOtherMethods",
     "openEphemeralStore",
     "parse",
     "rawMember",
     "readEnvironment",
     "repeat",
     "requestId",
     "run",
     "statusOf",
   ]
  `)
})
