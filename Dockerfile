# The service without a database: give it one with DATABASE_URL (docker-compose.yml does).

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run -s build

# Optional are the embedded PostgreSQL, which has no place in here, and what pg needs on Cloudflare.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json openapi.json ./
# DATA_DIR is never filled: where a start without DATABASE_URL can look, it is told that it needs one.
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
CMD ["node", "dist/main.js"]
