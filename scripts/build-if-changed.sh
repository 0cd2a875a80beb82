#!/bin/sh
# Builds if a source has changed since the last complete build began.
test -z "$(find src package.json nest-cli.json tsconfig*.json -cnewer dist/.built 2>&1)" && exit
echo 'Building…' >&2
mark=dist/.built.$$
mkdir -p dist && touch $mark && nest build >&2 && exec mv $mark dist/.built
rm -f $mark
exit 1
