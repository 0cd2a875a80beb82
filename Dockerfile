# The service without a database: set DATABASE_URL or DATABASE_URL_FILE (docker-compose.yml does).

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs ./scripts/
COPY src ./src
RUN npm run -s build

# The optional packages are the embedded PostgreSQL and a part of pg for Cloudflare; the image needs neither.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Source maps, declarations and sources in TypeScript are more than half of the bytes, and the service reads none of them.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' \) -delete

FROM node:24-bookworm-slim
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Animal Store" \
  org.opencontainers.image.description="An HTTP/JSON store API for animals: bearer keys, limits by plan, one Error body." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json openapi.json ./
COPY docs ./docs
# With this empty DATA_DIR a start without DATABASE_URL fails with a sentence that names it.
# NODE_OPTIONS: with a memory limit of 512 MiB V8 would choose 1 MiB for young objects, and garbage collection would take
# a third of the processor time.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=32 \
    DEPLOYMENT=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    METRICS_PORT=9464 \
    DATA_DIR=/tmp/animal-store
# The user node as a number: Kubernetes (runAsNonRoot) cannot tell from a name that it is not root.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
# The metrics port responds while clients keep the other one busy. By bash: another Node.js for each check would use several times the processor time of the idle service.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$METRICS_PORT && printf 'GET /livez HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r -t 2 _ status _ <&3 && [ \"$status\" = 200 ]"]
CMD ["node", "dist/main.js"]
