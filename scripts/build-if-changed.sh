#!/bin/sh
# Builds if a source has changed since the last complete build.
test -z "$(find src package.json nest-cli.json tsconfig*.json -cnewer dist/.built 2>&1)" && exit
echo 'Building…' >&2
nest build >&2 && touch dist/.built
