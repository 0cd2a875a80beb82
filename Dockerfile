# The service without a database: give it one with DATABASE_URL (docker-compose.yml does).

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run -s build

# The optional packages are the embedded PostgreSQL and a part of pg for Cloudflare; the image needs neither.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json openapi.json ./
# There is no embedded PostgreSQL. With this empty folder a start without DATABASE_URL fails with a sentence that names it.
ENV NODE_ENV=production \
    DEPLOYMENT=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/tmp/animal-store
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# With a memory limit of 512 MiB V8 would choose 1 MiB, and garbage collection would take a third of the processor time.
CMD ["node", "--max-semi-space-size=32", "dist/main.js"]
