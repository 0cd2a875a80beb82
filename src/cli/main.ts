#!/usr/bin/env node
import '../app/node-version';
import { runAnimalStoreCommand } from './program';

const [, , ...args] = process.argv;

void runAnimalStoreCommand(args).then((status) => (process.exitCode = status));
