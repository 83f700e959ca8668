# The program is plain JavaScript: the same files run on amd64, arm64 and arm/v7.
# A tag may mean another image tomorrow. To build from the same one each time, give it with its digest, which
# `docker buildx imagetools inspect node:22-bookworm-slim` shows: --build-arg NODE_IMAGE=node:22-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:22-bookworm-slim
FROM --platform=$BUILDPLATFORM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build && chmod +x dist/main.js

FROM --platform=$BUILDPLATFORM $NODE_IMAGE AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM $NODE_IMAGE
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# `docker exec … greenhouse2mqtt doctor` and the like.
RUN ln -s /app/dist/main.js /usr/local/bin/greenhouse2mqtt && mkdir /data && chown node:node /data
USER node
WORKDIR /data
VOLUME /data
# Proves that the process is alive and its link to the broker stands.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["node", "-e", "fetch('http://127.0.0.1:8099/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["run", "--config", "/data/config.yaml"]
