# syntax=docker/dockerfile:1@sha256:ecfaec9ed6d810b56388c508f4121597bfbba70d41a6dfeee4d8cad5f295fc32
# The image of the facilitator: the service, its command and the migrations of its database. From the root of the checkout:
#   docker build --file docker/facilitator.Dockerfile --tag tollgate/facilitator:local .
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

FROM ${NODE_IMAGE} AS tools
ENV CI=true TURBO_TELEMETRY_DISABLED=1 PNPM_HOME=/pnpm
RUN npm install --global pnpm@10.34.8 turbo@2.11.11
WORKDIR /repo

# What the facilitator is made of, with a lock file of only that: a change elsewhere leaves the layers below as they are.
FROM tools AS pruned
COPY . .
RUN turbo prune @tollgate/facilitator --docker

FROM tools AS build
COPY .pnpmfile.cjs ./
COPY --from=pruned /repo/out/json/ ./
RUN --mount=type=cache,id=pnpm,target=/pnpm/store pnpm install --frozen-lockfile
COPY --from=pruned /repo/out/full/ ./
COPY tsconfig.base.json ./
COPY prisma/ prisma/
RUN turbo run build --filter=@tollgate/facilitator
# Copies our packages (the setting) and keeps the versions of the lock file; --legacy would resolve them again. What pnpm notes of
# its own, with the time, is deleted: two builds are equal.
RUN --mount=type=cache,id=pnpm,target=/pnpm/store \
    pnpm --filter @tollgate/facilitator --config.inject-workspace-packages=true deploy --prod /app && \
    rm -f /app/node_modules/.modules.yaml /app/node_modules/.pnpm-workspace-state-v1.json

FROM ${NODE_IMAGE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tollgate facilitator" \
      org.opencontainers.image.description="Verifies and settles x402 payments on chain" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 MIGRATIONS_DIR=/app/prisma/facilitator/migrations
# Keeps memory near the live objects: docs/adr/0033-one-heap-size-everywhere.md
ENV NODE_OPTIONS=--max-old-space-size=256
WORKDIR /app
COPY --from=build /app ./
COPY prisma/facilitator/migrations/ prisma/facilitator/migrations/
# In numbers, so that a cluster can see that it is not root; it owns nothing here and needs no name.
USER 10001:10001
EXPOSE 8081 9081
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8081) + '/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Emptied: the base image would start the service through a shell script.
ENTRYPOINT []
CMD ["node", "dist/main.js"]
