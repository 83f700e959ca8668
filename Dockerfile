# The program is plain JavaScript in a few files with nothing to install beside them: the same run on amd64, arm64 and arm/v7.
# A tag may mean another image tomorrow. To build from the same one each time, give it with its digest, which
# `docker buildx imagetools inspect node:22-bookworm-slim` shows: --build-arg NODE_IMAGE=node:22-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:22-bookworm-slim
FROM --platform=$BUILDPLATFORM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY build ./build
COPY locales ./locales
COPY src ./src
RUN npm run build && npm run sbom

FROM $NODE_IMAGE
ENV NODE_ENV=production XDG_CACHE_HOME=/data/.cache
WORKDIR /app
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# Nothing is installed into it, so what installs is not there. `docker exec … greenhouse2mqtt doctor` and the like.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-v* \
  /usr/local/bin/yarn /usr/local/bin/yarnpkg && \
  ln -s /app/dist/main.js /usr/local/bin/greenhouse2mqtt && mkdir /data && chown node:node /data
USER node
WORKDIR /data
VOLUME /data
# Proves that the process is alive and its link to the broker stands.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["node", "-e", "fetch('http://127.0.0.1:8099/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["run", "--config", "/data/config.yaml"]
