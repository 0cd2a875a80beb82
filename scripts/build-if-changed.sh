#!/bin/sh
# Builds if a source has changed since the last complete build began.
# npm leaves packages out without an error: NestJS with legacy-peer-deps, and the compiler with NODE_ENV=production.
missing() {
  echo "The package $1 is missing. Run npm ci --include=dev --include=peer --no-legacy-peer-deps$2." >&2
  exit 1
}
packages=node_modules/.package-lock.json
test -f $packages && ! grep -q '"node_modules/@nestjs/core"' $packages && missing @nestjs/core
test -z "$(find src package.json nest-cli.json tsconfig*.json -cnewer dist/.built 2>&1)" && exit
command -v nest >/dev/null || missing @nestjs/cli ', or npm run start:prod if dist is complete'
echo 'Building…' >&2
mark=dist/.built.$$
mkdir -p dist && touch $mark && nest build >&2 && exec mv $mark dist/.built
rm -f $mark
exit 1
